import t from 'tap'
import { missingPath } from '../../src/cli/provider-paths.ts'

const WARNED: readonly (readonly [baseUrl: string, right: string])[] = [
  ['https://api.openai.com', 'https://api.openai.com/v1'],
  ['https://api.openai.com/', 'https://api.openai.com/v1'],
  ['https://eu.api.openai.com', 'https://eu.api.openai.com/v1'],
  ['https://mine.openai.azure.com/', 'https://mine.openai.azure.com/openai/v1'],
  ['https://openrouter.ai', 'https://openrouter.ai/api/v1'],
  ['https://api.groq.com', 'https://api.groq.com/openai/v1'],
]
for (const [baseUrl, right] of WARNED) {
  t.test(`${baseUrl} has no path`, async (t) => {
    t.ok(missingPath(baseUrl)?.endsWith(`; write \`${right}\``), missingPath(baseUrl) ?? 'no warning')
  })
}

const SILENT = [
  'https://api.openai.com/v1',
  'https://api.openai.com/v1/',
  'https://openrouter.ai/api/v1',
  'https://api.deepseek.com',
  'https://notapi.openai.com.example.org',
  'https://fakeapi.openai.community',
  'https://xapi.openai.com',
  'http://127.0.0.1:11434',
  'http://gateway.internal',
  'no url',
  '',
]
for (const baseUrl of SILENT) {
  t.test(`«${baseUrl}» gets no warning`, async (t) => t.equal(missingPath(baseUrl), null))
}
