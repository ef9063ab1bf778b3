/** What others may import of plugin proc. */
import { PerAgent } from "#plugins/agent";
import type { ToolProcess } from "#plugins/toolsrv";

/** `/session/{name}/agent/{aname}/proc/{pid}` */
export const PerProcess = PerAgent.instances<ToolProcess>()("proc/{pid}", "process");
