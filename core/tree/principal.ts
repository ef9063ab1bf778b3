/** Who asks. Decided by the listener that a connection came through, never by `uname` alone. */
export interface Principal {
  /** 9P user name: what stat shows as owner and what mode bits are matched with. */
  readonly name: string;
  readonly groups: readonly string[];
  readonly kind: "user" | "hook" | "agent";
  /** UUIDs, for `kind` agent (and hooks that run for one). */
  readonly agent?: string;
  readonly session?: string;
  /** Of `kind` hook: depth of the turn that it hangs on. */
  readonly depth?: number;
}
