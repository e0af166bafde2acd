"""`BlockingClient` with the real daemon."""

import unittest

from support import ME, Home

from avocet_client import AvocetError, BlockingClient, ConnectionLost, ErrorCode


class BlockingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Home()
        self.addCleanup(self.home.remove)

    def test_blocking_ask_send_and_wait_return_their_results(self) -> None:
        self.home.start()
        with BlockingClient(self.home.socket) as client:
            self.assertEqual(client.ask(ME, "count to 3", timeout=60)["reply"], "1, 2, 3.")
            self.assertEqual(client.ask(ME, "count to 1", "k", wait=False)["message"], "m2")
            self.assertEqual(
                client.publish(ME, "count to 1", "k"), {"message": "m2", "duplicate": True}
            )
            self.assertEqual(client.wait("m2", timeout=60)["reply"], "1.")
            self.assertEqual(client.send(ME, "hello")["duplicate"], False)
            with self.assertRaises(AvocetError) as refused:
                client.call("fly")
            self.assertEqual(refused.exception.code, ErrorCode.METHOD)

    def test_blocking_iterators_continue_after_a_kill_of_the_daemon(self) -> None:
        self.home.start()
        with (
            BlockingClient(self.home.socket) as client,
            client.subscribe("me", kinds=["delivery.pending"]) as events,
            client.attach(ME) as chat,
        ):
            for number in (1, 2):
                client.send(ME, f"hello {number}")
                self.assertEqual(next(events)["delivery"]["text"], f"hello {number}")
                delivery = next(chat)
                self.assertEqual((delivery.text, delivery.repeat), (f"hello {number}", False))
                delivery.confirm()
                # An answer of the daemon shows that it has the confirmation, too.
                client.call("ping")
                self.home.stop()
                self.home.start()
            chat.close()
            events.close()
            self.assertEqual((list(chat), list(events)), ([], []))

    def test_blocking_client_without_a_daemon_fails(self) -> None:
        client = BlockingClient(self.home.socket, retry_seconds=0)
        with self.assertRaisesRegex(ConnectionLost, "avocet run"), client:
            pass


if __name__ == "__main__":
    unittest.main()
