/** What somebody writes who has installed the package, in strict TypeScript: something of every entry of its `exports`. */
import { createKernel, definePlugin, type Kernel, leaf, Root } from "ollie";
import { connect } from "ollie/client";
import agent from "ollie/plugins/agent";
import sessions from "ollie/plugins/sessions";
import { PerSession } from "ollie/sessions";
import { testKernel } from "ollie/testing";
import { bus } from "ollie/tree";
import * as z from "zod";

const hello = definePlugin({
  name: "hello",
  doc: "Says hello.",
  config: z.strictObject({ to: z.string() }),
  setup({ config, mount }) {
    mount(PerSession, leaf("hello", { doc: "Hello.", read: (c) => `${config.to} ${c.session.name}\n` }));
    // @ts-expect-error: at the root there is no session
    mount(Root, leaf("hello", { doc: "Hello.", read: (c) => c.session.name }));
  },
});

// @ts-expect-error: an option that the plugin does not have
sessions({ folder: "/tmp" });
// @ts-expect-error: an option of another type
hello({ to: 1 });

export const kernel: Kernel = createKernel({ plugins: [sessions({ persist: false }), agent(), hello({ to: "you" })] });
export const ticks = bus();
export const read = async (path: string): Promise<string> => (await (await connect()).read(path)).toString("utf8");
export const tested = () => testKernel({ plugins: [hello({ to: "you" })] });
