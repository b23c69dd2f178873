// Names the tools that a provider runs, by the types of their definitions and of their calls.

import { type ToolName, toolNamed } from '../core/tool-name.ts'

/** A date, a version and the mark of a preview at the end of a type. */
const SUFFIX = /(?:_preview)?(?:_\d{8}|_\d{4}_\d{2}_\d{2}|_v\d+)?$/

/** Other names that providers use for a tool, and the type of its definition. */
const ALIASES: Readonly<Record<string, string>> = {
  web: 'web_search',
  computer: 'computer_use',
  computer_toolset: 'computer_use',
  browser_toolset: 'browser',
  bash_code_execution: 'code_execution',
  text_editor_code_execution: 'code_execution',
}

/** Begins the types of tools that OpenRouter runs. */
const PREFIX = /^openrouter:/

/** The type of a tool without its date or version: `web_search` for `web_search_2025_08_26`. */
const baseType = (type: string): string => type.replace(PREFIX, '').replace(SUFFIX, '')

/** Reports whether a type is of a tool that OpenRouter runs, whose calls no answer shows. */
export const isUnseenType = (type: unknown): boolean => typeof type === 'string' && PREFIX.test(type)

/**
 * The tool of a type that the provider knows.
 * @param name as the definition or the call has it; the type itself without one
 */
export function providerTool(type: string, name?: string): ToolName {
  const base = baseType(type)
  const own = name ?? ALIASES[base] ?? base
  const also = [base, ALIASES[base], ALIASES[own]].filter((one) => one !== undefined)
  return toolNamed(own, ...new Set(also))
}

/** A tool of a set that the provider knows. @param set as calls name it, such as `computer` */
export const toolOfSet = (set: string, name: string): ToolName => {
  const { name: own, also } = providerTool(`${set}_toolset`)
  return toolNamed(name, set, own, ...also)
}
