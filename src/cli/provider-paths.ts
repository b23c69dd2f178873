// Lists where known providers serve their OpenAI-compatible API, to warn of base URLs without a
// path.

/** The path that a base URL needs, by host. Providers that serve the API at `/` are left out. */
const PATHS: Readonly<Record<string, string>> = {
  'api.openai.com': '/v1',
  'openai.azure.com': '/openai/v1',
  'openrouter.ai': '/api/v1',
  'api.anthropic.com': '/v1',
  'generativelanguage.googleapis.com': '/v1beta/openai',
  'api.mistral.ai': '/v1',
  'api.groq.com': '/openai/v1',
  'api.together.ai': '/v1',
  'api.together.xyz': '/v1',
  'api.fireworks.ai': '/inference/v1',
  'api.x.ai': '/v1',
  'api.cerebras.ai': '/v1',
  'api.cohere.ai': '/compatibility/v1',
  'api.cohere.com': '/compatibility/v1',
  'api.deepinfra.com': '/v1/openai',
  'api.sambanova.ai': '/v1',
  'api.moonshot.ai': '/v1',
  'api.moonshot.cn': '/v1',
  'integrate.api.nvidia.com': '/v1',
  'router.huggingface.co': '/v1',
  'models.github.ai': '/inference',
  'dashscope.aliyuncs.com': '/compatible-mode/v1',
  'dashscope-intl.aliyuncs.com': '/compatible-mode/v1',
}

/**
 * Returns the warning for a base URL without a path at a known provider or one of its subdomains;
 * null for any other text.
 */
export function missingPath(baseUrl: string): string | null {
  const url = URL.parse(baseUrl)
  if (url === null || url.pathname !== '/') return null
  const host = url.hostname.replace(/\.$/, '')
  const known = Object.keys(PATHS).find((name) => host === name || host.endsWith(`.${name}`))
  if (known === undefined) return null
  return `has no path, but ${host} serves its API below ${PATHS[known]}; write \`${url.origin}${PATHS[known]}\``
}
