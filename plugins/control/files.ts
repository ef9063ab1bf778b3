/** /help and /ctl. */
import { type Base, type KernelView, type Leaf, leaf, NineError } from "#core";
import type { Sessions } from "#plugins/sessions";
import { helpText } from "./help.ts";
import { INVALIDATE, type Invalidate } from "./types.ts";
import { ctl, type Verbs } from "./verbs.ts";

export interface Reach {
  kernel: KernelView;
  sessions(): Sessions | undefined;
  invalidate(what: Invalidate | undefined): void;
}

export const help = (kernel: KernelView): Leaf<Base> =>
  leaf<Base>("help", {
    doc: "This text: every file with its mode, how it is used, and what it is.",
    read: () => helpText(kernel.files()),
  });

export const rootCtl = (reach: Reach): Leaf<Base> =>
  leaf<Base>("ctl", {
    doc: "Commands to the server, one a line: invalidate, kill, help. All are checked before the first runs.",
    mode: 0o600,
    deny: ({ kind }) => (kind === "user" ? undefined : "permission denied"),
    rights: "user alone",
    rdwr: ctl("ctl", verbs(reach)),
  });

function verbs({ kernel, sessions, invalidate }: Reach): Verbs<Base> {
  const session = (name: string) => {
    const found = sessions()?.get(name);
    if (!found) throw new NineError(`ctl: there is no session ${JSON.stringify(name.slice(0, 64))}`);
    return found;
  };
  const later = (what: string) => () => {
    throw new NineError(`ctl: ${what} is not available yet (restart the server)`);
  };
  return {
    invalidate: {
      args: `[${INVALIDATE.join("|")}]`,
      doc: "drop what is cached and read files again",
      check: (what) => {
        if (what !== "" && !isInvalidate(what))
          throw new NineError(`ctl: invalidate takes ${INVALIDATE.join(", ")} or nothing, not ${JSON.stringify(what)}`);
      },
      run: (_, what) => {
        invalidate(isInvalidate(what) ? what : undefined);
        return undefined;
      },
    },
    kill: {
      args: "[SESSION]",
      doc: "end that session, or the server",
      check: (name) => {
        if (name !== "") session(name);
      },
      run: async (c, name) => {
        if (name === "") kernel.stop(`kill from ${c.principal.name}`);
        else await sessions()?.kill(session(name));
        return undefined;
      },
    },
    plugin: {
      args: "enable|disable|reload NAME",
      doc: "not available yet",
      check: later("plugin"),
      run: later("plugin"),
    },
    config: { args: "reload", doc: "not available yet", check: later("config reload"), run: later("config reload") },
  };
}

const isInvalidate = (what: string): what is Invalidate => (INVALIDATE as readonly string[]).includes(what);
