/**
 * The modules that the page gives to scripts which it loads later, so that both use the same Preact.
 * `build.mjs` takes their exports from here.
 */

import * as preact from "preact";
import * as hooks from "preact/hooks";
import * as runtime from "preact/jsx-runtime";

import * as api from "../api.js";
import * as pageHooks from "../hooks.js";
import * as parts from "../parts/index.js";

export const SHARED: Record<string, unknown> = {
  preact: { Fragment: preact.Fragment },
  "preact/hooks": {
    useCallback: hooks.useCallback,
    useEffect: hooks.useEffect,
    useId: hooks.useId,
    useLayoutEffect: hooks.useLayoutEffect,
    useMemo: hooks.useMemo,
    useRef: hooks.useRef,
    useState: hooks.useState,
  },
  "preact/jsx-runtime": { Fragment: runtime.Fragment, jsx: runtime.jsx, jsxs: runtime.jsxs },
  "../api.js": { ApiError: api.ApiError, errorText: api.errorText, post: api.post },
  "../hooks.js": { useAction: pageHooks.useAction, useLoad: pageHooks.useLoad },
  "../parts/index.js": {
    Badge: parts.Badge,
    Button: parts.Button,
    ConfirmButton: parts.ConfirmButton,
    Dialog: parts.Dialog,
    IconButton: parts.IconButton,
    Loaded: parts.Loaded,
    Problem: parts.Problem,
  },
};
