/** One connection to the daemon: many requests at a time, with answers matched by their ids. */
/** A request from the daemon, which waits for `Connection.confirm`. */
export interface DaemonRequest {
    id: unknown;
    method: string;
    params: unknown;
}
/** A function that is called with each notification of the daemon. */
export type OnNotification = (method: string, params: unknown) => void;
/** An open connection. It ends with the daemon, with `close`, or when the daemon refuses it. */
export declare class Connection {
    #private;
    private constructor();
    /** Connects to the daemon that listens on `path`. */
    static open(path: string, onNotification?: OnNotification): Promise<Connection>;
    /** `false` once the connection has ended. */
    get isOpen(): boolean;
    /** Makes a request and returns its result. */
    call(method: string, params: unknown): Promise<unknown>;
    /** Returns the next request of the daemon. */
    nextRequest(): Promise<DaemonRequest>;
    /** Answers a request of the daemon. If the connection has ended, the daemon repeats it. */
    confirm(request: DaemonRequest): void;
    /** Ends the connection after all written lines. */
    close(): void;
}
