// Lists the forms of credentials whose issuers give them a prefix.

/** Tokens by prefix, as the issuers' own scanners match them. */
export const TOKEN_FORMS: readonly string[] = [
  // OpenAI, Anthropic, OpenRouter, …
  'sk-(?:ant-|proj-|or-v1-|svcacct-|admin-|lf-)?[A-Za-z0-9_-]{20,220}',
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])', // AWS
  'gh[pousr]_[A-Za-z0-9]{30,255}', // GitHub
  'github_pat_[A-Za-z0-9_]{22,255}',
  'gl(?:pat|ptt|rt|dt|ft|soat|cbt)-[A-Za-z0-9_.-]{20,300}', // GitLab
  'ATBB[A-Za-z0-9]{32}(?![A-Za-z0-9])', // Bitbucket
  'xox[abceoprs]-[A-Za-z0-9-]{10,200}', // Slack
  'xapp-\\d-[A-Za-z0-9-]{20,200}',
  'AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])', // Google
  'GOCSPX-[A-Za-z0-9_-]{28}',
  'ya29\\.[A-Za-z0-9_-]{30,400}',
  '[srp]k_(?:live|test)_[A-Za-z0-9]{16,200}', // Stripe
  'whsec_[A-Za-z0-9+/=]{24,100}',
  'npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])',
  'pypi-[A-Za-z0-9_-]{50,300}',
  'rubygems_[a-f0-9]{48}',
  'dckr_pat_[A-Za-z0-9_-]{20,60}',
  'hf_[A-Za-z0-9]{30,64}', // Hugging Face
  '(?:gsk|xai|nvapi|r8|pplx|tvly|fw|csk)[-_][A-Za-z0-9_-]{30,120}', // other model providers
  'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}', // SendGrid
  'key-[0-9a-f]{32}(?![A-Za-z0-9])', // Mailgun
  'AC[0-9a-f]{32}(?![A-Za-z0-9])|SK[0-9a-f]{32}(?![A-Za-z0-9])', // Twilio
  'dop_v1_[0-9a-f]{64}', // DigitalOcean
  'LTAI[A-Za-z0-9]{16,22}(?![A-Za-z0-9])', // Alibaba
  'HRKU-[A-Za-z0-9_-]{58,64}', // Heroku
  'fo1_[A-Za-z0-9_-]{40,60}', // Fly
  'fm[12]r?_[A-Za-z0-9+/=_-]{50,1000}',
  'rnd_[A-Za-z0-9]{28,40}(?![A-Za-z0-9])', // Render
  'vc[aciprk]_[A-Za-z0-9]{24,80}(?![A-Za-z0-9])', // Vercel
  'nfp_[A-Za-z0-9]{36,60}', // Netlify
  'pul-[0-9a-f]{40}(?![0-9a-f])', // Pulumi
  'dp\\.(?:pt|st|sa|ct|scim|audit)\\.[A-Za-z0-9._-]{40,64}', // Doppler
  'dapi[0-9a-f]{32}(?:-\\d)?(?![A-Za-z0-9])', // Databricks
  'sbp_[0-9a-f]{40}', // Supabase
  'sb_secret_[A-Za-z0-9_-]{20,80}',
  'pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}', // PlanetScale
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}', // Shopify
  'sq0(?:atp|csp)-[A-Za-z0-9_-]{22,60}', // Square
  'EAA[A-Z][A-Za-z0-9]{80,300}', // Meta
  // Discord
  '(?:M[DTjz]|N[DTjz]|O[DT])[A-Za-z0-9]{22,26}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])',
  'x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}', // Brevo
  'EZ[AT]K[A-Za-z0-9]{54}', // EasyPost
  'hv[sbr]\\.[A-Za-z0-9_-]{24,300}', // Vault
  'glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}', // Grafana
  'glc_eyJ[A-Za-z0-9+/=]{32,400}',
  'NRAK-[A-Z0-9]{27}(?![A-Za-z0-9])', // New Relic
  'sntrys_eyJ[A-Za-z0-9+/=_-]{50,500}', // Sentry
  'sntryu_[0-9a-f]{64}',
  'dt0[a-z]\\d\\d\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}', // Dynatrace
  'lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}', // LangSmith
  'jina_[A-Za-z0-9_-]{40,80}',
  'lin_(?:api|oauth)_[A-Za-z0-9]{40,64}', // Linear
  'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}', // Airtable
  'figd_[A-Za-z0-9_-]{36,60}', // Figma
  'ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])', // Notion
  'ATATT3[A-Za-z0-9_=-]{50,300}', // Atlassian
  'PMAK-[0-9a-f]{24}-[0-9a-f]{34}', // Postman
  'AGE-SECRET-KEY-1[0-9A-Z]{58}',
  'sgate_live_[A-Za-z0-9]{49}(?![A-Za-z0-9])',
  // JSON web token (RFC 7519): two objects and a signature, which may be missing.
  'eyJ[A-Za-z0-9_-]{8,4000}\\.[A-Za-z0-9_-]{8,12000}\\.[A-Za-z0-9_-]{0,2000}',
  '\\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])', // Telegram
]
export const TOKEN = new RegExp(TOKEN_FORMS.join('|'), 'y')

/** Longer tokens are longer than any other value without white space, with their prefix. */
const MAXIMUM_SHORT_TOKEN = 90
const PARTS = /\[[^\]]*\]\{(?:\d+,)?(?<most>\d+)\}/g

function isLong(form: string): boolean {
  let most = 0
  for (const part of form.matchAll(PARTS)) most += Number(part.groups!['most'])
  return most > MAXIMUM_SHORT_TOKEN
}

/** The start of a token that may be long: its prefix. */
export const LONG_TOKEN_START = new RegExp(
  `(?<![A-Za-z0-9])(?:${TOKEN_FORMS.filter(isLong)
    .map((form) => form.slice(0, form.search(PARTS)))
    .join('|')})`,
)

/** The first two characters of all tokens, except those that start with digits. */
const BEGINNINGS = new Uint8Array(128 * 128)
const beginningOf = (first: number, second: number): number => first * 128 + second
for (const [first = '', second = ''] of (
  'sk AK AS AB AC gh gi gl xo xa AI GO ya rk pk wh np py ru dc hf gs nv r8 pp tv fw cs SG ke SK do sh sq EA hv li nt ' +
  'se AT PM AG sg ey LT HR fo fm rn vc nf pu dp da sb ps MD MT Mj Mz ND NT Nj Nz OD OT xk xs EZ NR sn dt ls ji pa fi'
).split(' '))
  BEGINNINGS[beginningOf(first.charCodeAt(0), second.charCodeAt(0))] = 1

/** Reports whether a token may start with two characters. */
export const mayBeginToken = (first: number, second: number): boolean =>
  BEGINNINGS[beginningOf(first, second)] === 1
