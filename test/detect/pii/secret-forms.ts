// Makes credentials in the forms of their issuers and places for them, from a seed. Every value is
// random; none was ever issued.

import { createRandom, type Random } from '../../training/phrases.ts'

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const DIGITS = '0123456789'
/** Alphabets by the letter that stands for them in a pattern. */
const ALPHABETS: Readonly<Record<string, string>> = {
  d: DIGITS,
  h: `${DIGITS}abcdef`,
  H: `${DIGITS}ABCDEF`,
  l: LOWER + DIGITS,
  u: UPPER + DIGITS,
  a: UPPER + LOWER + DIGITS,
  w: `${UPPER}${LOWER}${DIGITS}_-`,
  b: `${UPPER}${LOWER}${DIGITS}+/`,
  p: `${UPPER}${LOWER}${DIGITS}!#%^*_+~?-`,
  c: 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L',
}
const UUID = '{h8}-{h4}-4{h3}-a{h3}-{h12}'

/**
 * Replaces `{a20}` by twenty random characters of an alphabet, `{a20-30}` by as many of them,
 * `{uuid}` by a random one, and `{jwt}` by a web token.
 */
export function fillPattern(pattern: string, random: Random): string {
  return pattern
    .replaceAll('{uuid}', UUID)
    .replaceAll('{jwt}', () => webToken(random))
    .replace(/\{([a-zA-Z])(\d+)(?:-(\d+))?\}/g, (_, alphabet: string, least: string, most = least) => {
      const length = Number(least) + Math.floor(random() * (Number(most) - Number(least) + 1))
      return characters(ALPHABETS[alphabet]!, length, random)
    })
}

/** Values have a digit if they may; passwords start and end with letters. */
function characters(alphabet: string, length: number, random: Random): string {
  const pick = (from: string): string => from[Math.floor(random() * from.length)]!
  const made = Array.from({ length }, () => pick(alphabet))
  if (alphabet === ALPHABETS['p']) {
    made[0] = pick(UPPER)
    made[length - 1] = pick(LOWER)
  }
  const hasDigit = made.some((character) => DIGITS.includes(character))
  if (!hasDigit && length > 3 && alphabet.includes(DIGITS)) made[2] = pick(DIGITS)
  return made.join('')
}

function webToken(random: Random): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { sub: characters(DIGITS, 10, random), iat: Math.floor(random() * 1e9) }
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}.${characters(ALPHABETS['w']!, 43, random)}`
}

/** Tokens that their form gives away, with the name of the issuer. */
const TOKEN_PATTERNS: readonly (readonly [issuer: string, pattern: string])[] = [
  ['Adobe', 'p8e-{l32}'],
  ['age', 'AGE-SECRET-KEY-1{c58}'],
  ['Airtable', 'pat{a14}.{h64}'],
  ['Alibaba', 'LTAI{a20}'],
  ['Anthropic', 'sk-ant-api03-{w93}AA'],
  ['Anthropic admin', 'sk-ant-admin01-{w93}AA'],
  ['Artifactory', 'AKCp{a69}'],
  ['Artifactory reference', 'cmVmdGtu{a59}'],
  ['Atlassian', 'ATATT3xFfGF0{w170}={H8}'],
  ['Bitbucket', 'ATBB{a32}'],
  ['Trello', 'ATTA{h64}{h12}'],
  ['AWS', 'AKIA{u16}'],
  ['AWS temporary', 'ASIA{u16}'],
  ['AWS session', 'IQoJb3JpZ2luX2Vj{b300}=='],
  ['AWS session of old', 'FwoGZXIvYXdz{b280}=='],
  ['Bedrock', 'ABSKQmVkcm9ja0FQSUtleS{b100}='],
  ['Bedrock for hours', 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{b120}'],
  ['Entra', '{a3}8Q~{w34}'],
  ['Entra of another number', '{a3}7Q~{w34}'],
  ['ClickHouse', '4b1d{a38}'],
  ['Clojars', 'CLOJARS_{l60}'],
  ['Cloudflare origin', 'v1.0-{h24}-{h146}'],
  ['Contentful', 'CFPAT-{w43}'],
  ['Databricks', 'dapi{h32}'],
  ['Defined', 'dnkey-{l26}-{l52}'],
  ['DigitalOcean', 'dop_v1_{h64}'],
  ['DigitalOcean OAuth', 'doo_v1_{h64}'],
  ['DigitalOcean refresh', 'dor_v1_{h64}'],
  ['Discord', 'MTE{a21}.{w6}.{w38}'],
  ['Docker', 'dckr_pat_{w27}'],
  ['Docker organisation', 'dckr_oat_{w32}'],
  ['Doppler', 'dp.pt.{a43}'],
  ['Dropbox', 'sl.{w136}'],
  ['Dropbox new', 'sl.u.{w140}'],
  ['Duffel', 'duffel_live_{w43}'],
  ['Dynatrace', 'dt0c01.{u24}.{u64}'],
  ['EasyPost', 'EZAK{a54}'],
  ['EasyPost test', 'EZTK{a54}'],
  ['Facebook', 'EAAM{a120}'],
  ['Figma', 'figd_{w40}'],
  ['Flutterwave', 'FLWSECK-{h32}-X'],
  ['Flutterwave test', 'FLWSECK_TEST-{h32}-X'],
  ['Frame.io', 'fio-u-{w64}'],
  ['Google', 'AIza{w35}'],
  ['Google OAuth', 'GOCSPX-{w28}'],
  ['Google access', 'ya29.{w120}'],
  ['Google refresh', '1//0{w100}'],
  ['GitHub', 'ghp_{a36}'],
  ['GitHub OAuth', 'gho_{a36}'],
  ['GitHub user', 'ghu_{a36}'],
  ['GitHub server', 'ghs_{a36}'],
  ['GitHub refresh', 'ghr_{a76}'],
  ['GitHub fine-grained', 'github_pat_{a22}_{a59}'],
  ['GitLab', 'glpat-{w20}'],
  ['GitLab routable', 'glpat-{w27}.01.{l9}'],
  ['GitLab trigger', 'glptt-{h40}'],
  ['GitLab runner', 'glrt-{w20}'],
  ['GitLab runner of old', 'GR1348941{w20}'],
  ['GitLab agent', 'glagent-{w50}'],
  ['GitLab deploy', 'gldt-{w20}'],
  ['GitLab feed', 'glft-{w20}'],
  ['GitLab flags', 'glffct-{w20}'],
  ['GitLab mail', 'glimt-{w25}'],
  ['GitLab OAuth', 'gloas-{w64}'],
  ['GitLab SCIM', 'glsoat-{w20}'],
  ['GitLab job', 'glcbt-{l5}_{w20}'],
  ['Grafana', 'glsa_{a32}_{h8}'],
  ['Grafana cloud', 'glc_eyJ{a60}'],
  ['Harness', 'pat.{a22}.{h24}.{a20}'],
  ['Terraform', '{a14}.atlasv1.{w67}'],
  ['Heroku', 'HRKU-AA{w58}'],
  ['HubSpot', 'pat-na1-{uuid}'],
  ['Hugging Face', 'hf_{a34}'],
  ['Hugging Face organisation', 'api_org_{a34}'],
  ['Infracost', 'ico-{a32}'],
  ['Intra42', 's-s4t2ud-{h64}'],
  ['Linear', 'lin_api_{a40}'],
  ['Lob', 'live_{h35}'],
  ['Mailchimp', '{h32}-us20'],
  ['Mailgun', 'key-{h32}'],
  ['Mailgun signing', '{h32}-{h8}-{h8}'],
  ['MailerSend', 'mlsn.{h64}'],
  ['Mapbox', 'sk.eyJ1Ijoi{a80}.{w22}'],
  ['MaxMind', '{a6}_{a29}_mmk'],
  ['Netlify', 'nfp_{a36}'],
  ['New Relic', 'NRAK-{u27}'],
  ['New Relic insert', 'NRII-{w32}'],
  ['New Relic browser', 'NRJS-{h19}'],
  ['Notion', 'ntn_{d11}{a35}'],
  ['Notion of old', 'secret_{a43}'],
  ['npm', 'npm_{a36}'],
  ['NuGet', 'oy2{l43}'],
  ['1Password service', 'ops_eyJ{w260}'],
  ['1Password', 'A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}'],
  ['OpenAI', 'sk-proj-{w74}T3BlbkFJ{w74}'],
  ['OpenAI of old', 'sk-{a20}T3BlbkFJ{a20}'],
  ['OpenAI service', 'sk-svcacct-{w74}'],
  ['OpenRouter', 'sk-or-v1-{h64}'],
  ['OpenShift', 'sha256~{w43}'],
  ['Perplexity', 'pplx-{a48}'],
  ['Pinecone', 'pcsk_{a5}_{a63}'],
  ['Plaid', 'access-production-{uuid}'],
  ['PlanetScale', 'pscale_tkn_{w43}'],
  ['PlanetScale password', 'pscale_pw_{w43}'],
  ['Postman', 'PMAK-{h24}-{h34}'],
  ['Prefect', 'pnu_{l36}'],
  ['Pulumi', 'pul-{h40}'],
  ['PyPI', 'pypi-AgEIcHlwaS5vcmc{w100}'],
  ['ReadMe', 'rdme_{l70}'],
  ['RubyGems', 'rubygems_{h48}'],
  ['Scalingo', 'tk-us-{w48}'],
  ['SendGrid', 'SG.{w22}.{w43}'],
  ['Brevo', 'xkeysib-{h64}-{a16}'],
  ['Sentry', 'sntrys_eyJ{a100}=_{w43}'],
  ['Sentry user', 'sntryu_{h64}'],
  ['SettleMint', 'sm_aat_{a16}'],
  ['Shippo', 'shippo_live_{h40}'],
  ['Shopify', 'shpat_{h32}'],
  ['Shopify shared', 'shpss_{h32}'],
  ['Slack bot', 'xoxb-{d12}-{d12}-{a24}'],
  ['Slack user', 'xoxp-{d12}-{d12}-{d12}-{h32}'],
  ['Slack app', 'xapp-1-A{u10}-{d13}-{h64}'],
  ['Slack rotated', 'xoxe.xoxp-1-{a163}'],
  ['Slack refresh', 'xoxe-1-{a146}'],
  ['SonarQube', 'squ_{h40}'],
  ['SonarQube project', 'sqp_{h40}'],
  ['Sourcegraph', 'sgp_{h40}'],
  ['Sourcegraph instance', 'sgp_{h16}_{h40}'],
  ['Square', 'EAAA{w60}'],
  ['Square of old', 'sq0atp-{w22}'],
  ['Square secret', 'sq0csp-{w43}'],
  ['Stripe', 'sk_live_{a24}'],
  ['Stripe restricted', 'rk_live_{a99}'],
  ['Stripe webhook', 'whsec_{a32}'],
  ['Telegram', '{d10}:AA{w33}'],
  ['Twilio', 'SK{h32}'],
  ['Typeform', 'tfp_{w59}'],
  ['Ubidots', 'BBFF-{a30}'],
  ['Vault', 'hvs.{w90}'],
  ['Vault batch', 'hvb.{w140}'],
  ['Vault of old', 's.{a24}'],
  ['Yandex', 'AQVN{w36}'],
  ['Yandex cloud', 'YC{w38}'],
  ['Yandex token', 't1.{w160}.{w86}'],
  ['web token', '{jwt}'],
  ['Groq', 'gsk_{a52}'],
  ['xAI', 'xai-{a80}'],
  ['Nvidia', 'nvapi-{w64}'],
  ['Replicate', 'r8_{a37}'],
  ['Together', 'tgp_v1_{w43}'],
  ['Fireworks', 'fw_{a24}'],
  ['Cerebras', 'csk-{l48}'],
  ['Tavily', 'tvly-{a32}'],
  ['Firecrawl', 'fc-{h32}'],
  ['Voyage', 'pa-{w43}'],
  ['Anyscale', 'esecret_{l26}'],
  ['Langfuse', 'sk-lf-{uuid}'],
  ['LangSmith', 'lsv2_pt_{h32}_{h10}'],
  ['Resend', 're_{a8}_{a24}'],
  ['PostHog', 'phx_{a43}'],
  ['Neon', 'napi_{l64}'],
  ['Tailscale', 'tskey-auth-{a17}-{a32}'],
  ['Buildkite', 'bkua_{h40}'],
  ['CircleCI', 'CCIPAT_{a22}_{h40}'],
  ['crates.io', 'cio{a32}'],
  ['E2B', 'e2b_{h40}'],
  ['Honeycomb', 'hcaik_{l58}'],
  ['LaunchDarkly', 'sdk-{uuid}'],
  ['Ory', 'ory_st_{a32}'],
  ['Paddle', 'pdl_live_apikey_{l26}_{a22}_{a3}'],
  ['Razorpay', 'rzp_live_{a14}'],
  ['Klarna', 'klarna_live_api_{a40}'],
  ['RSA key without a header', 'MIIEvAIBADANBgkqhkiG9w0BAQEFAASC{b700}='],
  ['EC key without a header', 'MHcCAQEEI{b120}=='],
  ['Vercel', 'vcp_{a56}'],
]

/** Tokens without a form of their own, which only a name before them gives away. */
const NAMED_PATTERNS: readonly (readonly [words: string, pattern: string])[] = [
  ['Adafruit API key', '{w32}'],
  ['Algolia API key', '{h32}'],
  ['Asana client secret', '{h32}'],
  ['Azure storage account key', '{b86}=='],
  ['Bitbucket client secret', '{w64}'],
  ['Cloudflare API token', '{w40}'],
  ['Codecov access token', '{uuid}'],
  ['Cohere API token', '{a40}'],
  ['Coinbase access token', '{l64}'],
  ['Confluent secret key', '{b64}'],
  ['Datadog API key', '{h32}'],
  ['Datadog access token', '{l40}'],
  ['Droneci access token', '{l32}'],
  ['Etsy access token', '{l24}'],
  ['Fastly API token', '{w32}'],
  ['Finnhub access token', '{l20}'],
  ['Heroku API key', '{uuid}'],
  ['Jfrog API key', '{a73}'],
  ['Kraken access token', '{b80}=='],
  ['LinkedIn client secret', '{a16}'],
  ['Mattermost access token', '{l26}'],
  ['Mistral API key', '{a32}'],
  ['Okta access token', '00{w40}'],
  ['Plaid client secret', '{h30}'],
  ['RapidAPI access token', '{w50}'],
  ['Snyk API token', '{uuid}'],
  ['Sumologic access token', '{a64}'],
  ['Twilio auth token', '{h32}'],
  ['Twitch client secret', '{l30}'],
  ['Twitter API secret', '{a50}'],
  ['Zendesk secret key', '{l40}'],
]

/** The value lies between «». */
type Place = (value: string, name: string) => string
const constantCase = (words: string): string => words.replaceAll(' ', '_').toUpperCase()
const camelCase = (words: string): string =>
  words.toLowerCase().replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())

const FORM_PLACES: readonly Place[] = [
  (value) => `NODE_ENV=production\nINTEGRATION=«${value}»\nPORT=8080\n`,
  (value) => `Please try the request again with «${value}», it was renewed this morning.`,
  (value) => `{"level":"info","integration":"«${value}»","attempt":2}`,
]
const NAMED_PLACES: readonly Place[] = [
  (value, name) => `NODE_ENV=production\n${constantCase(name)}=«${value}»\nPORT=8080\n`,
  (value, name) => `For the staging system the ${name} is «${value}», please rotate it.`,
  (value, name) => `{"level":"info","${camelCase(name)}":"«${value}»","attempt":2}`,
]
const INSTANCES = 3

/** A text in which «» mark the credential, and the form it has. */
export interface MarkedForm {
  readonly form: string
  readonly marked: string
}

/** Each form with three values in three places. */
export function markedForms(seed: number): MarkedForm[] {
  const random = createRandom(seed)
  const lists = [
    [TOKEN_PATTERNS, FORM_PLACES],
    [NAMED_PATTERNS, NAMED_PLACES],
  ] as const
  return lists.flatMap(([patterns, places]) =>
    patterns.flatMap(([form, pattern]) =>
      Array.from({ length: INSTANCES }, () => fillPattern(pattern, random)).flatMap((value) =>
        places.map((place) => ({ form, marked: place(value, form) })),
      ),
    ),
  )
}
