/** The words of the pages in English and Chinese. What the checker finds is in English everywhere. */

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const ENGLISH = {
  // The editor and the answers of the checker.
  job: "Job",
  answers: "What the checker says",
  tabs: "What to show",
  editor: "Job file. Tab indents; press Escape, then Tab, to leave the editor.",
  findings: "Findings",
  runs: "What runs",
  expanded: "Expanded",
  graph: "Graph",
  whatRuns: "What a task runs, in order, with what its prerequisites add. Select a line to see its source.",
  whatExpanded: "The job to submit: one that every released cluster accepts and that runs the same.",
  whatGraph: "Which task role and which prerequisite requires which. Select a node to see its definition.",
  inline: "Commands of prerequisites in the task’s own shell",
  copy: "Copy",
  starting: "Starting the checker…",
  loading: (loaded: string, total: string) =>
    `Loading the checker: ${loaded} of ${total} MB. The browser keeps it for next time.`,
  broken: (reason: string) => `The checker cannot run: ${reason}. Load the page again.`,
  failed: (reason: string) => `The checker failed on this text: ${reason}`,
  fromFile:
    "This page was opened from a file, and browsers do not let such a page read the files of the checker. Serve its folder, for example with “python3 -m http.server”, and open it from there.",
  noWebAssembly: "This browser has no WebAssembly, or it is switched off. The checker needs it.",
  oldBrowser: "This browser is too old for the checker. Use a newer version of Firefox, Chrome, Edge or Safari.",
  emptyFile: "The file is empty. Write or paste a job, or choose an example.",
  found: (errors: number, warnings: number, information: number, hints: number) =>
    [
      errors ? counted(errors, "error") : "",
      warnings ? counted(warnings, "warning") : "",
      information ? `${information} information` : "",
      hints ? counted(hints, "hint") : "",
    ]
      .filter((words) => words !== "")
      .join(", ") + ".",
  noFindings: "No findings.",
  noFindingsInJob: "No findings. “What runs” shows the commands of each task.",
  definitions: "Checked as a file of definitions. ",
  manifest: "Checked as an MPIJob manifest. ",
  findingsTab: (count: number) => `Findings (${count})`,
  fixAll: (count: number) => (count === 1 ? "Apply the safe fix" : `Apply ${count} safe fixes`),
  fixed: (count: number) => `${counted(count, "finding")} fixed. Ctrl+Z in the editor takes it back.`,
  notFixed: (reason: string) => `The fixes could not be applied: ${reason}`,
  line: (line: number) => ` line ${line}`,
  severity: (severity: string) => severity,
  rule: "What this rule is about",
  ruleInTab: "What this rule is about, in a new tab",
  noJob: "Only a job has this; the file is something else.",
  noRole: "The job has no task role yet.",
  unchanged: "This is the job as it is: it needs no expansion.",
  notExpanded: (count: number) => `The job cannot be expanded, because it has ${count === 1 ? "an error" : "errors"}:`,
  nothingToDraw: "There are no task roles and no prerequisites to draw.",
  drawing: "Drawing…",
  copied: "The expanded job is in the clipboard.",
  notCopied: "The browser did not allow this; select the text and copy it.",
  // The portal.
  title: "Write and submit a job",
  subtitle: "The job is checked in your browser, for this cluster.",
  newJob: "New job",
  choose: "Choose…",
  replaced: "Ctrl+Z in the editor brings the job back that was there.",
  language: "Language",
  submit: "Submit…",
  licenses: "Licenses",
  emptyJob: "The file is empty. Write or paste a job, or choose one under “New job”.",
  notInPortal: "This page belongs into the portal, which tells it the cluster. Here, it only checks.",
  notLoggedIn:
    "You are not logged in to the portal: the job is checked, but it is not known whether it fits the cluster.",
  asking: "Asking the cluster for its virtual clusters, SKUs, storages and your rights…",
  factsFailed: "It is not known whether the job fits the cluster:",
  definitionsFailed: "The definitions of the marketplace are not known:",
  loggedOut: "Your login to the portal has expired or was ended; what you have written is still here.",
  logIn: "Log in again in another tab",
  again: "Try again",
  reasons: "Details",
  fitUnknown: "It is not known yet whether the job fits the cluster.",
  reading: (job: string) => `Reading the job ${job} and why it ended…`,
  notRead: "The job could not be read:",
  secretsHidden: "The cluster does not give its secrets back: write them again.",
  whyTitle: (job: string) => `Why did ${job} fail?`,
  goToLine: (line: number) => `Go to line ${line}`,
  sendTitle: "Submit this job?",
  sendWhere: "What is sent where",
  sendFit: "Does it fit?",
  sendText: "The job as it is sent",
  sendErrors: (count: number) =>
    `${count === 1 ? "There is an error" : `There are ${count} errors`} in the job; the cluster may refuse it, or it may fail.`,
  send: "Submit",
  sendAnyway: "Submit anyway",
  sending: "Sending the job…",
  cancel: "Cancel",
  notSent: "The job is not submitted:",
  cannotSend: "The job cannot be expanded; “Expanded” shows the reasons.",
  sent: (name: string) => `The job ${name} is submitted.`,
  openJob: "Open its page",
};

/** The same keys, each with a text or a function of the same arguments. */
export type Labels = {
  readonly [Key in keyof typeof ENGLISH]: (typeof ENGLISH)[Key] extends string ? string : (typeof ENGLISH)[Key];
};

const SEVERITIES: Record<string, string> = { error: "错误", warning: "警告", information: "信息", hint: "提示" };

const CHINESE: Labels = {
  job: "任务",
  answers: "检查器的结论",
  tabs: "显示内容",
  editor: "任务文件。Tab 键缩进；先按 Escape 再按 Tab 离开编辑器。",
  findings: "检查结果",
  runs: "运行内容",
  expanded: "展开结果",
  graph: "依赖图",
  whatRuns: "任务依次运行的命令，包括前置条件添加的命令。选择一行可查看其来源。",
  whatExpanded: "要提交的任务：所有已发布的集群都接受，且运行结果相同。",
  whatGraph: "任务角色与前置条件之间的依赖关系。选择节点可查看其定义。",
  inline: "前置条件的命令在任务自己的 shell 中运行",
  copy: "复制",
  starting: "正在启动检查器…",
  loading: (loaded, total) => `正在加载检查器：${loaded} / ${total} MB。浏览器会缓存，下次无需再加载。`,
  broken: (reason) => `检查器无法运行：${reason}。请重新加载页面。`,
  failed: (reason) => `检查器处理此文本时出错：${reason}`,
  fromFile: "此页面是从文件打开的，浏览器不允许它读取检查器的文件。请通过 Web 服务器打开。",
  noWebAssembly: "此浏览器没有 WebAssembly，或已被禁用。检查器需要它。",
  oldBrowser: "此浏览器版本过旧。请使用新版 Firefox、Chrome、Edge 或 Safari。",
  emptyFile: "文件为空。请编写或粘贴任务，或选择一个示例。",
  found: (errors, warnings, information, hints) =>
    [
      errors ? `${errors} 个错误` : "",
      warnings ? `${warnings} 个警告` : "",
      information ? `${information} 条信息` : "",
      hints ? `${hints} 条提示` : "",
    ]
      .filter((words) => words !== "")
      .join("，") + "。",
  noFindings: "没有发现问题。",
  noFindingsInJob: "没有发现问题。“运行内容”显示每个任务的命令。",
  definitions: "作为定义文件检查。",
  manifest: "作为 MPIJob 清单检查。",
  findingsTab: (count) => `检查结果 (${count})`,
  fixAll: (count) => `应用 ${count} 个安全修复`,
  fixed: (count) => `已修复 ${count} 处。在编辑器中按 Ctrl+Z 可撤销。`,
  notFixed: (reason) => `无法应用修复：${reason}`,
  line: (line) => ` 第 ${line} 行`,
  severity: (severity) => SEVERITIES[severity] ?? severity,
  rule: "此规则的说明",
  ruleInTab: "此规则的说明（新标签页）",
  noJob: "只有任务才有此内容；该文件不是任务。",
  noRole: "任务还没有任务角色。",
  unchanged: "任务无需展开，将原样提交。",
  notExpanded: () => "任务有错误，无法展开：",
  nothingToDraw: "没有可绘制的任务角色和前置条件。",
  drawing: "正在绘制…",
  copied: "展开后的任务已复制到剪贴板。",
  notCopied: "浏览器不允许复制；请选择文本后自行复制。",
  title: "编写并提交任务",
  subtitle: "任务在您的浏览器中针对本集群进行检查。",
  newJob: "新建任务",
  choose: "请选择…",
  replaced: "在编辑器中按 Ctrl+Z 可恢复之前的任务。",
  language: "语言",
  submit: "提交…",
  licenses: "许可证",
  emptyJob: "文件为空。请编写或粘贴任务，或在“新建任务”中选择一个。",
  notInPortal: "此页面应在门户中打开，由门户提供集群信息。在这里它只做检查。",
  notLoggedIn: "您尚未登录门户：任务会被检查，但无法判断它是否适合本集群。",
  asking: "正在向集群查询虚拟集群、SKU、存储和您的权限…",
  factsFailed: "无法判断任务是否适合本集群：",
  definitionsFailed: "无法获知市场（marketplace）中的定义：",
  loggedOut: "您在门户的登录已过期或已结束；您编写的内容仍在此处。",
  logIn: "在新标签页中重新登录",
  again: "重试",
  reasons: "详情",
  fitUnknown: "尚不清楚任务是否适合本集群。",
  reading: (job) => `正在读取任务 ${job} 及其结束原因…`,
  notRead: "无法读取任务：",
  secretsHidden: "集群不会返回任务的机密（secrets）：请重新填写。",
  whyTitle: (job) => `${job} 为什么失败？`,
  goToLine: (line) => `转到第 ${line} 行`,
  sendTitle: "提交此任务？",
  sendWhere: "发送内容与目标",
  sendFit: "是否适合集群？",
  sendText: "实际发送的任务",
  sendErrors: (count) => `任务有 ${count} 个错误；集群可能拒绝它，或任务可能失败。`,
  send: "提交",
  sendAnyway: "仍然提交",
  sending: "正在发送任务…",
  cancel: "取消",
  notSent: "任务未提交：",
  cannotSend: "任务无法展开；原因见“展开结果”。",
  sent: (name) => `任务 ${name} 已提交。`,
  openJob: "打开任务页面",
};

export const LANGUAGES = { en: ENGLISH as Labels, zh: CHINESE };
export type Language = keyof typeof LANGUAGES;

/** The words of the language that is chosen; English at first. */
export let labels: Labels = ENGLISH;

/** Choose a language, and write its words into the page: `data-label` is an element's text, `data-name` its name. */
export function speak(language: Language): void {
  labels = LANGUAGES[language];
  document.documentElement.lang = language;
  const texts = labels as unknown as Record<string, unknown>;
  for (const one of document.querySelectorAll<HTMLElement>("[data-label], [data-name]")) {
    const text = texts[one.dataset.label ?? one.dataset.name ?? ""];
    if (typeof text !== "string") {
      throw new Error(`no label is named '${one.dataset.label ?? one.dataset.name ?? ""}'`);
    }
    if (one.dataset.label === undefined) {
      one.setAttribute("aria-label", text);
    } else {
      one.textContent = text;
    }
  }
}
