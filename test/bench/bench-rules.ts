// The rules of the gateways of a bench.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Pattern of the keyword rule. No load matches it. */
export const KEYWORDS = 'project aurora|project borealis|internal[- ]only'

const TOOLS = '{ name: tools, type: tool_access, pattern: ["*", "!secret-tool"], action: block }'

/** One rule of each type. None of them denies a call of the load. */
export const RULES: readonly string[] = [
  `{ name: words, type: keyword_block, pattern: "${KEYWORDS}", action: block }`,
  '{ name: data, type: pii, pattern: "*", action: redact }',
  '{ name: injection, type: prompt_injection, pattern: "", action: monitor }',
  '{ name: budget, type: rate_limit, pattern: "1000000M/1d", action: block }',
  '{ name: calls, type: rate_limit, pattern: "100000000 requests/1d", action: block }',
  '{ name: lanes, type: rate_limit, pattern: "10000 parallel", per: all, action: block }',
  '{ name: models, type: model_access, pattern: ["*", "!secret-model"], action: block }',
  TOOLS,
  '{ name: texts, type: capture, pattern: full }',
]

/** These without the one on tools. */
export const RULES_WITHOUT_TOOLS = RULES.filter((rule) => rule !== TOOLS)

/** Ten rules on agents. One takes a definition out of each call of `toolCall`, and none denies it. */
export const TOOL_RULES: readonly string[] = [
  '{ name: only-these, type: tool_access, pattern: ["read_*", "edit_*", "search_*", "list_*", "web_*", "send_*", bash, "shell_*", "mcp:jira/*"], action: block }',
  '{ name: no-computer, type: tool_access, pattern: ["*", "!computer_use", "!code_interpreter"], action: block }',
  '{ name: hide-shell, type: tool_access, pattern: ["*", "!shell_*"], action: remove }',
  '{ name: deletions-seen, type: tool_access, pattern: ["*", "!delete_*", "!mcp:*/delete_*"], action: monitor }',
  `{ name: no-force-push, type: tool_access, pattern: ["*", "!bash"], arguments: [{ path: /command, pattern: 'git\\s+push\\b.*--force|\\brm\\s+-rf\\s+/' }], action: block }`,
  `{ name: no-secrets, type: tool_access, pattern: ["*", "!read_*", "!edit_*"], arguments: [{ path: /path, pattern: '\\.env\\b|/\\.ssh/' }], action: block }`,
  '{ name: no-keys, type: tool_access, pattern: ["*", "!*"], arguments: [{ path: "", pattern: "BEGIN PRIVATE KEY" }], action: block }',
  '{ name: no-mail-after-web, type: tool_access, pattern: ["*", "!send_*"], after: ["web_*", "mcp:*"], action: block }',
  '{ name: run-budget, type: rate_limit, pattern: "1000000 USD/run", per: run, action: block }',
  '{ name: run-steps, type: rate_limit, pattern: "1M tool_calls/run", per: run, action: block }',
]

/** The text of a file with these rules. */
export const ruleFile = (rules: readonly string[]): string =>
  `rules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`

/**
 * Returns the rules that another build of the program knows.
 * @param folder for files of rules
 * @throws Error for a build that knows none
 */
export function rulesKnownTo(main: string, folder: string): readonly string[] {
  const file = join(folder, 'known.yaml')
  const knows = (rules: readonly string[]): boolean => {
    writeFileSync(file, ruleFile(rules))
    try {
      execFileSync(process.execPath, [main, 'check', file], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  }
  const known = knows(RULES) ? RULES : RULES.filter((rule) => knows([rule]))
  if (known.length === 0) throw new Error(`${main} check refuses every rule of the bench`)
  return known
}
