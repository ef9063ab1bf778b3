/**
 * Results of `read` calls, kept for equal calls of the same turn until something may have changed. The result of a read
 * that ran beside a change is not kept: nobody knows what it saw.
 */
import type { ToolScope } from "#plugins/scheduler";
import type { ToolResult } from "#plugins/toolsrv";
import { limits } from "./limits.ts";

export interface ReadCache {
  /** What an equal call gave, else what `work` gives. `key` names the tool, its arguments and its directory. */
  through(scope: ToolScope, key: string, work: () => Promise<ToolResult>): Promise<ToolResult>;
  /** Something changed that no call did. */
  drop(): void;
}

export function readCache(): ReadCache {
  const results = new Map<string, ToolResult>();
  let size = 0;
  /** Changes that have begun or ended so far. */
  let changes = 0;
  let changing = 0;
  const drop = () => {
    changes++;
    results.clear();
    size = 0;
  };
  const keep = (key: string, result: ToolResult) => {
    size += key.length + result.content.length;
    if (size > limits.readCache) drop();
    else results.set(key, result);
  };
  return {
    drop,
    async through(scope, key, work) {
      if (scope === "read") {
        const known = results.get(key);
        if (known) return known;
        const before = changes;
        const result = await work();
        if (result.status === "ok" && before === changes && changing === 0) keep(key, result);
        return result;
      }
      drop();
      changing++;
      try {
        return await work();
      } finally {
        changing--;
        drop();
      }
    },
  };
}
