// Lists where servers read the names of models besides `model`. Each is documented.

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
  // Advisors of Messages, image generation of Responses, and the tools and plugins of OpenRouter
  ['tools', 'model'],
  ['tools', 'parameters', 'model'],
  ['tools', 'parameters', 'models'],
  ['tools', 'parameters', 'analysismodels'],
  ['tools', 'parameters', 'tools', 'model'],
  ['tools', 'parameters', 'tools', 'parameters', 'model'],
  ['tools', 'parameters', 'tools', 'parameters', 'analysismodels'],
  ['plugins', 'model'],
  ['plugins', 'models'],
  ['plugins', 'analysismodels'],
  // Groq, https://console.groq.com/docs/compound
  ['compoundcustom', 'models'],
  // LM Studio, https://lmstudio.ai/docs/app/advanced/speculative-decoding
  ['draftmodel'],
]
