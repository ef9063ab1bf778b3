/** What a scenario says: the shape of the file, in types. docs/script-backend.md explains it with examples. */
import type { BackendErrorKind, StopReason } from "#plugins/backends";

export interface Scenario {
  /** Name that `model` shows. Default: `offline` for the built-in one, else `script`. */
  model?: string | undefined;
  /** What `models` lists. Default: `model` alone. */
  models?: string[] | undefined;
  /** Tokens; what contextLength() gives. */
  contextLength?: number | undefined;
  /** All agents use up the same replies. Default: each agent starts at the first. */
  shared?: boolean | undefined;
  /** Characters of one text event. Default 16. */
  chunk?: number | undefined;
  /** Milliseconds between text events. Default 0. */
  every?: number | undefined;
  replies: Reply[];
}

export interface Reply {
  /** Where it fits; without it, everywhere. */
  when?: When | undefined;
  /** How often it can be used. Default 1. */
  repeat?: number | "always" | undefined;
  steps: Step[];
}

/** All that are given must hold. Patterns are JavaScript regular expressions in which a dot matches a line end too. */
export interface When {
  /** Pattern on the last user message. Alone, it asks that no tool result came since: a fresh prompt. */
  prompt?: string | undefined;
  /** Pattern on the last tool result: the request must end in results. */
  result?: string | undefined;
  /** Name of the tool that gave the last result. */
  tool?: string | undefined;
  /** Name of a tool that the request must offer. */
  offers?: string | undefined;
}

export interface Call {
  name: string;
  /** An object, whose strings are templates; or the raw argument text, to script broken JSON. Default {}. */
  args?: Record<string, unknown> | string | undefined;
  /** Default: a new one. */
  id?: string | undefined;
  /** The reply was cut inside of this call. */
  cut?: boolean | undefined;
}

export interface Failure {
  kind: BackendErrorKind;
  message: string;
  retryAfterMs?: number | undefined;
  status?: number | undefined;
}

/** A step does one thing. */
export interface Step {
  text?: string | undefined;
  reasoning?: string | undefined;
  /** Of this text or reasoning: over the scenario's. */
  chunk?: number | undefined;
  every?: number | undefined;
  /** A finished block that the history must carry. */
  block?: { text: string; signature?: string | undefined } | undefined;
  call?: Call | undefined;
  usage?:
    | {
        input: number;
        output: number;
        cachedInput?: number | undefined;
        cacheCreation?: number | undefined;
        reasoning?: number | undefined;
        costUSD?: number | undefined;
      }
    | undefined;
  /** Milliseconds to wait. */
  delay?: number | undefined;
  /** The reply fails here. */
  error?: Failure | undefined;
  /** The reply ends here, with this stop reason. Default at the end: `tool_calls` after a call, else `stop`. */
  end?: StopReason | undefined;
  /** Nothing more comes until the request is aborted. */
  hang?: true | undefined;
  /** The stream ends with no end mark, as a lost connection would. */
  drop?: true | undefined;
}
