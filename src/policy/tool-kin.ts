// Finds the further names of a called tool. A call has the name alone; the definition of a tool
// that a provider knows also has its type.

import type { ToolName } from '../core/tool-name.ts'

/** Types of tools that providers know, by the names that their calls have. */
const KNOWN: Readonly<Record<string, string>> = {
  computer: 'computer_use',
  str_replace_editor: 'text_editor',
  str_replace_based_edit_tool: 'text_editor',
}

/** Adds to a tool the names that its definition has. */
export type ToolKin = (tool: ToolName) => ToolName

const withNames = (tool: ToolName, names: readonly string[]): ToolName => ({
  ...tool,
  also: [...new Set([...tool.also, ...names])].filter((name) => name !== tool.name),
})

/** The further names of tools by their definitions; of one without a definition, the known type. */
export function kinOf(defined: readonly ToolName[]): ToolKin {
  const byName = new Map<string, Set<string>>()
  for (const { name, also } of defined) {
    // Hardly any tool has further names.
    if (also.length === 0 && !Object.hasOwn(KNOWN, name)) continue
    const names = byName.get(name) ?? new Set()
    byName.set(name, names)
    for (const one of also) names.add(one)
  }
  return (tool) => {
    const names = byName.get(tool.name)
    if (names !== undefined) return names.size === 0 ? tool : withNames(tool, [...names])
    return Object.hasOwn(KNOWN, tool.name) ? withNames(tool, [KNOWN[tool.name]!]) : tool
  }
}
