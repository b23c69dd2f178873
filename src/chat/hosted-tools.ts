// Reads what makes a provider run tools without a definition of them: options that search the web,
// plugins of OpenRouter, tools of Groq's Compound, and stored prompts.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { storedPrompt, type ToolName, writtenName } from '../core/tool-name.ts'
import { providerTool } from './tool-types.ts'

export interface HostedTool {
  readonly tool: ToolName
  /** Whether the provider may run it without a sign in the answer. */
  readonly isUnseen: boolean
  /** Takes it out of the body, or an item out of a list; null where that cannot be. */
  readonly remove: ((takeOut: (list: JsonValue[], item: JsonValue) => void) => void) | null
}

/** Members of a body that make a model search the web: OpenAI's, xAI's and DashScope's. */
const SEARCHES = ['web_search_options', 'search_parameters', 'enable_search'] as const

/**
 * Plugins that change texts or choose a model, and run no tool. See
 * https://openrouter.ai/docs/guides/features/plugins
 */
const TEXT_PLUGINS: ReadonlySet<string> = new Set([
  ...['file-parser', 'response-healing', 'context-compression', 'auto-router', 'pareto-router', 'moderation'],
])

/** Ends the name of a model of OpenRouter that searches the web. */
const ONLINE = ':online'

export function readHostedTools(body: JsonObject): HostedTool[] {
  const { plugins, model, models, prompt, compound_custom: compound } = body
  const found: HostedTool[] = []
  for (const name of SEARCHES)
    if (isOn(body[name])) found.push({ ...search(), remove: () => void delete body[name] })
  for (const plugin of Array.isArray(plugins) ? plugins : []) {
    const id = isObject(plugin) ? (writtenName(plugin['id']) ?? '') : ''
    const isOff = isObject(plugin) && plugin['enabled'] === false
    if (isOff || TEXT_PLUGINS.has(id)) continue
    const remove: HostedTool['remove'] = (takeOut) => takeOut(plugins as JsonValue[], plugin)
    found.push({ tool: providerTool(id), isUnseen: true, remove })
  }
  const options = isObject(compound) ? compound['tools'] : null
  const enabled = isObject(options) ? options['enabled_tools'] : null
  for (const item of Array.isArray(enabled) ? enabled : [])
    found.push({
      ...{ tool: providerTool(writtenName(item) ?? ''), isUnseen: true },
      remove: (takeOut) => takeOut(enabled as JsonValue[], item),
    })
  // The name says where the call goes, and was read already.
  if ([model, ...(Array.isArray(models) ? models : [])].some(isOnline)) found.push(search())
  if (isObject(prompt)) {
    const tool = storedPrompt(writtenName(prompt['id']) ?? '')
    found.push({ tool, isUnseen: false, remove: null })
  }
  return found
}

const search = (): HostedTool => ({ tool: providerTool('web_search'), isUnseen: true, remove: null })

/** Whether an option has a value that asks for something. */
const isOn = (option: JsonValue | undefined): boolean =>
  option !== undefined &&
  option !== null &&
  option !== false &&
  !(isObject(option) && option['mode'] === 'off')

const isOnline = (model: JsonValue | undefined): boolean =>
  typeof model === 'string' && model.endsWith(ONLINE)
