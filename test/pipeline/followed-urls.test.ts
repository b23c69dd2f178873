// URLs of pictures, sound, video and files: a rule may refuse them, and nothing alters them.

import t from 'tap'
import { requestTexts as textsInSteps } from '../../src/chat/texts.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { RuleAction } from '../../src/core/rule-action.ts'
import { atOnce } from '../../src/core/steps.ts'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { inspect } from '../../src/pipeline/prompt/inspect.ts'
import { rule } from '../policy/rules.ts'
import { ALL_KINDS, chunksOf, END, event, relay, selectRules } from './fixture.ts'

const requestTexts = (body: Parameters<typeof textsInSteps>[0]) => atOnce(textsInSteps(body))

const model = loadInjectionModel()
const SIGNATURE = 'a1b2c3d4'.repeat(64)
const URLS: Record<string, string> = {
  'GCS v4': `https://storage.googleapis.com/b/o.png?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=svc%40proj-1.iam.gserviceaccount.com%2F20260301%2Fauto&X-Goog-Date=20260301T101500Z&X-Goog-Signature=${SIGNATURE}`,
  'GCS v2':
    'https://storage.googleapis.com/b/o.png?GoogleAccessId=svc@proj.iam.gserviceaccount.com&Expires=1772361900&Signature=aB3%2Fx9',
  'S3 v2':
    'https://b.s3.amazonaws.com/o.png?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Expires=1772361900&Signature=vjbyPxybdZaNmGa%2ByT272YEAiv4%3D',
  Firebase:
    'https://firebasestorage.googleapis.com/v0/b/p/o/a%2Fb.jpg?alt=media&token=5f0d1b7e-3c1a-4f6e-9b4d-2a7c8e9f0a1b',
  SAS: 'https://acc.blob.core.windows.net/c/o.png?sv=2024-11-04&sip=203.0.113.7-203.0.113.99&sig=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE%3D',
  'an address as host': 'http://203.0.113.7:9000/bucket/4111111111111111.png?for=bob@example.com',
  'another scheme': 'gs://bucket/bob@example.com/4111111111111111.png',
}
const PARTS: Record<string, (url: string) => JsonObject> = {
  'image_url.url': (url) => ({ type: 'image_url', image_url: { url } }),
  image_url: (url) => ({ type: 'input_image', image_url: url }),
  'video_url.url': (url) => ({ type: 'video_url', video_url: { url } }),
  'video[]': (url) => ({ type: 'video', video: [url] }),
  'audio_url.url': (url) => ({ type: 'audio_url', audio_url: { url } }),
  'input_audio.data': (url) => ({ type: 'input_audio', input_audio: { data: url, format: 'wav' } }),
  'input_audio.url': (url) => ({ type: 'input_audio', input_audio: { url } }),
  file_url: (url) => ({ type: 'input_file', file_url: url }),
  'file.file_data': (url) => ({ type: 'file', file: { filename: 'a.pdf', file_data: url } }),
  'file.file_url': (url) => ({ type: 'file', file: { file_url: url } }),
  'source.url': (url) => ({ type: 'image', source: { type: 'url', url } }),
}

function look(content: JsonObject[], action: RuleAction) {
  const body: JsonObject = { model: 'm', messages: [{ role: 'user', content }] }
  const selection = selectRules([rule('data', '*', { type: 'pii', action }), rule('word', 'bucket')])
  const inspection = atOnce(inspect(requestTexts(body), selection, { kinds: ALL_KINDS, injection: model }))
  return { ...inspection, sent: JSON.stringify(body) }
}

for (const [place, part] of Object.entries(PARTS)) {
  t.test(`a URL in ${place} is not altered`, async (t) => {
    for (const [what, url] of Object.entries(URLS)) {
      for (const action of ['redact', 'restore', 'monitor', 'allow'] as const) {
        const { sent, binaryParts } = look([part(url)], action)
        t.ok(sent.includes(JSON.stringify(url)), `${what}, ${action}`)
        t.equal(binaryParts, 1)
      }
    }
  })
}

t.test('rules that block see the findings and words of such a URL', async (t) => {
  const { findings, keywordHits } = look([PARTS['image_url.url']!(URLS['an address as host']!)], 'block')
  t.ok(findings.some(({ kind }) => kind === 'email'))
  t.same(
    keywordHits.map(({ name }) => name),
    ['word'],
  )
  t.same(look([PARTS['image_url.url']!(URLS['GCS v2']!)], 'redact').findings, [])
})

t.test('a text that is no such URL is redacted', async (t) => {
  const address = 'https://x.example/?u=bob@example.com'
  const texts: JsonObject[] = [
    { type: 'image_url', image_url: { url: 'bob@example.com' } },
    { type: 'image_url', image_url: { url: 'data:text/plain,bob@example.com' } },
    { type: 'text', text: address },
    { type: 'image_url', image_url: { url: 'https://x.example/a', detail: address } },
  ]
  for (const part of texts) t.notMatch(look([part], 'redact').sent, 'bob@')
  const body: JsonObject = { model: 'm', messages: [], metadata: { image_url: address } }
  atOnce(inspect(requestTexts(body), selectRules([]), { kinds: ALL_KINDS, injection: model }))
  t.notMatch(JSON.stringify(body), 'bob@')
})

t.test('the picture URL of a streamed answer is not altered', async (t) => {
  for (const url of Object.values(URLS)) {
    const images = [{ type: 'image_url', image_url: { url } }]
    const { sent } = await relay([event({ delta: { content: 'Here.', images } }), ...END])
    t.equal(chunksOf(sent)[0].choices[0].delta.images[0].image_url.url, url)
  }
})
