// Names of models that pass, and those that are refused because they hold personal data.

import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import { checkModels } from '../../src/pipeline/prompt/clean-model.ts'

/** Checks a model and its fallbacks. */
const check = (names: readonly string[]) =>
  checkModels(names.map((name, index) => ({ name, param: index === 0 ? 'model' : `models[${index - 1}]` })))

const NAMES = [
  'gpt-4o',
  'gpt-4o-2024-08-06',
  'gpt-4.1-mini-2025-04-14',
  'gpt-3.5-turbo-0125',
  'chatgpt-4o-latest',
  'o3-mini',
  'o1-preview-2024-09-12',
  'ft:gpt-4o-mini-2024-07-18:acme:support-bot:9xYzAbC1',
  'claude-3-5-sonnet-20241022',
  'claude-sonnet-4-20250514',
  'anthropic/claude-3.7-sonnet:thinking',
  'us.anthropic.claude-3-5-sonnet-20241022-v2:0',
  'anthropic.claude-3-haiku-20240307-v1:0',
  'bedrock/amazon.nova-pro-v1:0',
  'bedrock/arn:aws:bedrock:us-east-1:415555267112:application-inference-profile/a1b2c3d4e5f6',
  'arn:aws:bedrock:us-west-2:491701234567:inference-profile/us.meta.llama3-2-90b-instruct-v1:0',
  'arn:aws-us-gov:bedrock:us-gov-west-1:442071838750:provisioned-model/abcdef123456',
  'arn:aws:sagemaker:eu-central-1:123456789012:endpoint/my-endpoint',
  'projects/415555267112/locations/us-central1/endpoints/4111111111111111110',
  'vertex_ai/projects/1234567890/locations/europe-west4/endpoints/6011000990139424123',
  'projects/my-project/locations/global/publishers/google/models/gemini-2.5-pro',
  'gemini-2.5-flash-preview-05-20',
  'run_2024_08_06_12_30_45',
  'models/gemini-1.5-pro-002',
  'meta-llama/Llama-3.3-70B-Instruct',
  'accounts/fireworks/models/llama-v3p1-405b-instruct',
  'mistralai/Mixtral-8x22B-Instruct-v0.1',
  'mistral-large-2411',
  'codestral-2501',
  'deepseek-ai/DeepSeek-R1-Distill-Qwen-32B',
  'deepseek/deepseek-chat-v3-0324:free',
  'Qwen/Qwen2.5-Coder-32B-Instruct',
  'qwen3:235b-a22b-q4_K_M',
  'llama3.2:3b-instruct-q8_0',
  'hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M',
  '@cf/meta/llama-3.1-8b-instruct',
  '@hf/thebloke/deepseek-coder-6.7b-instruct-awq',
  'cohere.command-r-plus-v1:0',
  'grok-2-vision-1212',
  'azure/my deployment',
  'openrouter/auto',
  'モデル-7b',
]

const REFUSED: readonly [string, string][] = [
  ['alice@example.com', 'email'],
  ['gpt-4o/alice.smith@example.com', 'email'],
  ['alice%40example.com', 'email'],
  ['alice%2540example.com', 'email'],
  ['ａｌｉｃｅ＠example.com', 'email'],
  ['4111111111111111', 'credit_card'],
  ['4111 1111 1111 1111', 'credit_card'],
  ['user_4111111111111111', 'credit_card'],
  ['４１１１１１１１１１１１１１１１', 'credit_card'],
  ['4111-1111-1111-1111', 'credit_card'],
  ['+1 415 555 2671', 'phone'],
  ['gpt-4o+14155552671', 'phone'],
  ['me_+1_415_555_2671', 'phone'],
  ['GB82WEST12345698765432', 'iban'],
  ['203.0.113.77/llama', 'ip_address'],
  ['ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'secret'],
  // Digits are left out in their place only, and only as many as an account or an endpoint has.
  ['arn:aws:bedrock:us-east-1:4111111111111111:inference-profile/x', 'credit_card'],
  ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/4111111111111111', 'credit_card'],
  ['arn:aws:bedrock:us-east-1:123456789012:alice@example.com', 'email'],
  ['projects/4111111111111111/locations/us-central1/endpoints/1', 'credit_card'],
  ['projects/1234567890/locations/us-central1/endpoints/4111111111111111', 'credit_card'],
  ['endpoints/4111111111111111110', 'credit_card'],
]

t.test('real names of models pass', async (t) => {
  for (const name of NAMES) t.doesNotThrow(() => check([name]), name)
})

t.test('a name with personal data is refused each time, with its kind and without its text', async (t) => {
  for (const [name, kind] of REFUSED) {
    for (const [models, param] of [
      [[name], 'model'],
      [['m', 'n', name], 'models[1]'],
      [[name], 'model'],
    ] as const) {
      try {
        check(models)
        t.fail(name)
      } catch (error) {
        t.match(error, { code: 'invalid_body', param }, name)
        const { message } = error as GatewayError
        t.ok(message.startsWith(`${param}: `) && message.includes(kind), `${name}: ${message}`)
        t.notOk(message.includes(name))
      }
    }
  }
})

t.test('a name with a character that cannot be printed is refused', async (t) => {
  for (const name of ['m\0', 'gpt\n4o', 'gpt\u202e4o', 'gpt\u20284o', 'gpt\ud800', 'a\u200bb']) {
    t.throws(() => check([name]), { code: 'invalid_body', param: 'model' })
    t.throws(() => check(['m', name]), { code: 'invalid_body', param: 'models[0]' })
  }
})

t.test('names are judged alike once more of them came than are remembered', async (t) => {
  for (let index = 0; index < 1000; index++) t.doesNotThrow(() => check([`model-${index}`]))
  t.throws(() => check(['alice@example.com']), GatewayError)
})
