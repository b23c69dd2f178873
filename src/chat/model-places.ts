// Lists where servers read the names of models besides `model`. Each is documented.

/** Where a request holds definitions of tools, as in tool-places.ts. */
const TOOLS = [
  ['tools'],
  ['tools', 'tools'],
  ['input', 'tools'],
  ['input', 'tools', 'tools'],
  ['messages', 'tools'],
  ['messages', 'content', 'tool', 'definition'],
  ['messages', 'content', 'toolchanges', 'tool', 'definition'],
] as const

/** Advisors of Messages, image generation of Responses, and the tools and plugins of OpenRouter. */
const OF_TOOL = [
  ['model'],
  ['parameters', 'model'],
  ['parameters', 'models'],
  ['parameters', 'analysismodels'],
  ['parameters', 'tools', 'model'],
  ['parameters', 'tools', 'parameters', 'model'],
  ['parameters', 'tools', 'parameters', 'analysismodels'],
] as const

/**
 * Where servers read the names of further models: members from the body on, in small letters
 * without `_` and `-`. A list on the way stands for each of its items.
 */
export const MODEL_PLACES: readonly (readonly [string, ...string[]])[] = [
  // OpenRouter, https://openrouter.ai/docs/guides/routing/model-fallbacks
  ['models'],
  // Messages, AssemblyAI and LiteLLM, https://docs.litellm.ai/docs/proxy/client_side_fallbacks
  ['fallbacks'],
  ['contextwindowfallbacks'],
  ['contextwindowfallbackdict'],
  ['contentpolicyfallbacks'],
  // Vercel, https://vercel.com/docs/ai-gateway
  ['provideroptions', 'gateway', 'models'],
  ...TOOLS.flatMap((at) => OF_TOOL.map((place) => [...at, ...place] as const)),
  ['plugins', 'model'],
  ['plugins', 'models'],
  ['plugins', 'analysismodels'],
  // Groq, https://console.groq.com/docs/compound
  ['compoundcustom', 'models'],
  // LM Studio, https://lmstudio.ai/docs/app/advanced/speculative-decoding
  ['draftmodel'],
]
