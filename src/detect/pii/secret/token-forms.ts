// Lists the forms of credentials whose issuers give them a prefix, and matches them.

/** How the part after the prefix is tested besides its form. */
type Test = 'random' | 'weak' | 'none'

interface TokenForm {
  readonly issuer: string
  /** What a token starts with; one of the words. */
  readonly prefixes: string
  /** Pattern of the rest. */
  readonly rest: string
  /**
   * `random` by default. `weak`: other texts have the prefix, so the rest must be machine-made.
   * `none`: the form alone proves it.
   */
  readonly test: Test
}

const END = '(?![A-Za-z0-9])'
const END_OF_WORD = '(?![A-Za-z0-9_-])'
export const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

const form = (issuer: string, prefixes: string, rest: string, test: Test = 'random'): TokenForm => ({
  issuer,
  prefixes,
  rest,
  test,
})

/** As the issuers' own scanners match them. */
export const TOKEN_FORMS: readonly TokenForm[] = [
  form(
    'OpenAI, Anthropic, OpenRouter and others',
    'sk-ant- sk-proj- sk-or-v1- sk-svcacct- sk-admin- sk-lf- sk-',
    '[A-Za-z0-9_-]{20,220}',
  ),
  form('AWS key id', 'AKIA ASIA ABIA ACCA', `[A-Z0-9]{16}${END}`),
  form('AWS session', 'IQoJ FwoG FQoG', '[A-Za-z0-9+/]{100,2000}={0,2}'),
  form('AWS Bedrock', 'ABSK', `[A-Za-z0-9+/]{100,270}={0,2}${END}`),
  form('AWS Bedrock for hours', 'bedrock-api-key-YmVkcm9jay', '[A-Za-z0-9+/]{40,3000}={0,2}'),
  form('GitHub', 'ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9]{30,255}'),
  form('GitHub', 'github_pat_', '[A-Za-z0-9_]{22,255}'),
  form(
    'GitLab',
    'glpat- glptt- glrt- gldt- glft- glffct- glimt- gloas- glsoat- glcbt- glagent- glrtr- glwt-',
    '[A-Za-z0-9_.-]{20,300}',
  ),
  form('GitLab runner', 'GR1348941', `[A-Za-z0-9_-]{20}${END_OF_WORD}`),
  form('Bitbucket', 'ATBB', `[A-Za-z0-9]{32}${END}`),
  form('Bitbucket', 'ATCTT3', '[A-Za-z0-9_=-]{50,300}'),
  form('Trello', 'ATTA', `[0-9a-f]{64,80}${END}`),
  form('Slack', 'xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs- xoxd- xoxe.', '[A-Za-z0-9%-]{10,400}'),
  form('Slack app', 'xapp-', '\\d-[A-Za-z0-9-]{20,200}'),
  form('Google', 'AIza', `[A-Za-z0-9_-]{35}${END_OF_WORD}`),
  form('Google OAuth', 'GOCSPX-', '[A-Za-z0-9_-]{28}'),
  form('Google access', 'ya29.', '[A-Za-z0-9_-]{30,400}'),
  form('Stripe', 'sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_', '[A-Za-z0-9]{16,200}'),
  form('Stripe webhook', 'whsec_', '[A-Za-z0-9+/=]{24,100}'),
  form('npm', 'npm_', `[A-Za-z0-9]{36}${END}`),
  form('PyPI', 'pypi-', '[A-Za-z0-9_-]{50,300}'),
  form('RubyGems', 'rubygems_', '[a-f0-9]{48}'),
  form('NuGet', 'oy2', `[a-z0-9]{43}${END}`, 'weak'),
  form('crates.io', 'cio', `[A-Za-z0-9]{32}${END}`, 'weak'),
  form('Clojars', 'CLOJARS_', `[a-z0-9]{60}${END}`),
  form('Docker', 'dckr_pat_ dckr_oat_', '[A-Za-z0-9_-]{20,60}'),
  form('Artifactory', 'AKCp', `[A-Za-z0-9]{60,80}${END}`),
  form('Artifactory reference', 'cmVmdGtu', `[A-Za-z0-9]{50,64}${END}`),
  form('Hugging Face', 'hf_ api_org_', '[A-Za-z0-9]{30,64}'),
  form(
    'other model providers',
    'gsk_ gsk- xai_ xai- nvapi_ nvapi- r8_ r8- pplx_ pplx- tvly_ tvly- fw_ fw- csk_ csk-',
    '[A-Za-z0-9_-]{24,120}',
    'weak',
  ),
  form('Together', 'tgp_v1_', '[A-Za-z0-9_-]{40,60}'),
  form('Firecrawl', 'fc-', `[0-9a-f]{32}${END}`, 'weak'),
  form('Voyage', 'pa-', `[A-Za-z0-9_-]{43}${END_OF_WORD}`, 'weak'),
  form('Anyscale', 'esecret_', '[A-Za-z0-9]{24,40}'),
  form('Pinecone', 'pcsk_', '[A-Za-z0-9_]{50,100}'),
  form('LangSmith', 'lsv2_pt_ lsv2_sk_', '[0-9a-f]{32}_[0-9a-f]{10}'),
  form('Jina', 'jina_', '[A-Za-z0-9_-]{40,80}'),
  form('E2B', 'e2b_', `[0-9a-f]{40}${END}`),
  form('SendGrid', 'SG.', '[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}'),
  form('Mailgun', 'key- pubkey-', `[0-9a-f]{32}${END}`),
  form('MailerSend', 'mlsn.', `[0-9a-f]{64}${END}`),
  form('Brevo', 'xkeysib- xsmtpsib-', '[0-9a-f]{64}-[A-Za-z0-9]{16}'),
  form('Resend', 're_', `[A-Za-z0-9]{8}_[A-Za-z0-9]{24}${END}`, 'weak'),
  form('Twilio', 'AC SK', `[0-9a-f]{32}${END}`),
  form('DigitalOcean', 'dop_v1_ doo_v1_ dor_v1_', '[0-9a-f]{64}'),
  form('Alibaba', 'LTAI', `[A-Za-z0-9]{16,22}${END}`),
  form('Heroku', 'HRKU-', '[A-Za-z0-9_-]{58,64}'),
  form('Fly', 'fo1_', '[A-Za-z0-9_-]{40,60}'),
  form('Fly', 'fm1_ fm2_ fm1r_ fm2r_', '[A-Za-z0-9+/=_-]{50,1000}'),
  form('Render', 'rnd_', `[A-Za-z0-9]{28,40}${END}`),
  form('Vercel', 'vca_ vcc_ vci_ vcp_ vcr_ vck_', `[A-Za-z0-9]{24,80}${END}`),
  form('Netlify', 'nfp_', '[A-Za-z0-9]{36,60}'),
  form('Neon', 'napi_', `[a-z0-9]{50,80}${END}`),
  form('Pulumi', 'pul-', '[0-9a-f]{40}(?![0-9a-f])'),
  form('Doppler', 'dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.', '[A-Za-z0-9._-]{40,64}'),
  form('Databricks', 'dapi', `[0-9a-f]{32}(?:-\\d)?${END}`),
  form('Supabase', 'sbp_', '[0-9a-f]{40}'),
  form('Supabase', 'sb_secret_', '[A-Za-z0-9_-]{20,80}'),
  form('PlanetScale', 'pscale_tkn_ pscale_pw_ pscale_oauth_', '[A-Za-z0-9_.=-]{32,64}'),
  form('Shopify', 'shpat_ shpca_ shppa_ shpss_', '[0-9a-fA-F]{32}'),
  form('Square', 'sq0atp- sq0csp-', '[A-Za-z0-9_-]{22,60}'),
  form('Square', 'EAAA', `[A-Za-z0-9_-]{60}${END_OF_WORD}`, 'weak'),
  form('Meta', 'EAA', '[A-Z][A-Za-z0-9]{80,300}(?![A-Za-z0-9+/=])'),
  form(
    'Discord',
    'MD MT Mj Mz ND NT Nj Nz OD OT',
    `[A-Za-z0-9]{22,26}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,40}${END_OF_WORD}`,
  ),
  form('EasyPost', 'EZAK EZTK', '[A-Za-z0-9]{54}'),
  form('Vault', 'hvs. hvb. hvr.', '[A-Za-z0-9_-]{24,300}'),
  form('Vault of old', 's. b. r.', `[A-Za-z0-9]{24}(?![A-Za-z0-9_.(-])`, 'weak'),
  form('Grafana', 'glsa_', '[A-Za-z0-9]{32}_[0-9a-fA-F]{8}'),
  form('Grafana', 'glc_eyJ', '[A-Za-z0-9+/=]{32,400}'),
  form('New Relic', 'NRAK-', `[A-Z0-9]{27}${END}`),
  form('New Relic', 'NRII- NRIQ-', `[A-Za-z0-9_-]{32}${END_OF_WORD}`),
  form('New Relic', 'NRJS-', `[0-9a-f]{19}${END}`),
  form('New Relic', 'NRRA- NRAA-', '[0-9a-f]{27,42}'),
  form('Honeycomb', 'hcaik_ hcalk_ hcxik_ hcxlk_ hcbik_', '[a-z0-9]{58}'),
  form('Sentry', 'sntrys_eyJ', '[A-Za-z0-9+/=_-]{50,500}'),
  form('Sentry', 'sntryu_', '[0-9a-f]{64}'),
  form('Dynatrace', 'dt0', '[a-z]\\d\\d\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}'),
  form('LaunchDarkly', 'sdk- api- mob-', `${UUID}${END}`),
  form('PostHog', 'phx_ phc_', `[A-Za-z0-9]{40,60}${END}`),
  form('Linear', 'lin_api_ lin_oauth_', '[A-Za-z0-9]{40,64}'),
  form('Airtable', 'pat', `[A-Za-z0-9]{14}\\.[0-9a-f]{64}${END}`),
  form('Harness', 'pat. sat.', '[A-Za-z0-9_-]{22}\\.[0-9a-f]{24}\\.[A-Za-z0-9]{20}'),
  form('HubSpot', 'pat-na1- pat-na2- pat-eu1- pat-na3-', UUID),
  form('Figma', 'figd_', '[A-Za-z0-9_-]{36,60}'),
  form('Notion', 'ntn_', '[A-Za-z0-9]{40,60}'),
  form('Notion', 'secret_', `[A-Za-z0-9]{43}${END}`),
  form('Atlassian', 'ATATT3', '[A-Za-z0-9_=-]{50,300}'),
  form('Postman', 'PMAK-', '[0-9a-f]{24}-[0-9a-f]{34}'),
  form('age', 'AGE-SECRET-KEY-1', '[0-9A-Z]{58}'),
  form('Adobe', 'p8e-', `[A-Za-z0-9]{32}${END}`),
  form('Cloudflare origin', 'v1.0-', '[0-9a-f]{24}-[0-9a-f]{146}'),
  form('Cloudflare', 'cfut_ cfat_ cfk_', '[A-Za-z0-9_-]{36,80}', 'weak'),
  form('ClickHouse', '4b1d', `[A-Za-z0-9]{38}${END}`, 'weak'),
  form('Contentful', 'CFPAT-', '[A-Za-z0-9_-]{40,64}'),
  form('Defined', 'dnkey-', '[a-z0-9=_-]{26}-[a-z0-9=_-]{52}'),
  form('Dropbox', 'sl. sl.u.', '[A-Za-z0-9_=-]{130,1400}'),
  form('Duffel', 'duffel_live_ duffel_test_', '[A-Za-z0-9_=-]{43}'),
  form('Flutterwave', 'FLWSECK- FLWSECK_TEST- FLWPUBK_TEST- FLWPUBK-', '[0-9a-fA-F]{12,32}(?:-X)?'),
  form('Frame.io', 'fio-u-', '[A-Za-z0-9_=-]{64}'),
  form('Google refresh', '1//0', '[A-Za-z0-9_-]{40,120}'),
  form('Infracost', 'ico-', `[A-Za-z0-9]{32}${END}`, 'weak'),
  form('Intra42', 's-s4t2ud- s-s4t2af-', '[0-9a-f]{64}'),
  form('Lob', 'live_ test_', `[0-9a-f]{35}${END}`),
  form('GoCardless, Mollie', 'live_ test_', `[A-Za-z0-9_=-]{30,40}${END_OF_WORD}`, 'weak'),
  form('Mapbox', 'sk.eyJ', '[A-Za-z0-9_-]{40,120}\\.[A-Za-z0-9_-]{20,24}'),
  form('1Password service', 'ops_eyJ', '[A-Za-z0-9+/_-]{100,2000}={0,3}'),
  form('1Password', 'A3-', `[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}${END}`),
  form('OpenShift', 'sha256~', '[A-Za-z0-9_-]{43}'),
  form('Plaid', 'access-production- access-sandbox- access-development-', UUID),
  form('Prefect', 'pnu_ pnb_', `[a-z0-9]{36}${END}`),
  form('ReadMe', 'rdme_', '[a-z0-9]{70}'),
  form('Scalingo', 'tk-us- tk-eu-', '[A-Za-z0-9_-]{48}'),
  form('SettleMint', 'sm_aat_ sm_pat_ sm_sat_', '[A-Za-z0-9]{16}'),
  form('Shippo', 'shippo_live_ shippo_test_', '[0-9a-f]{40}'),
  form('SonarQube', 'squ_ sqp_ sqa_', `[0-9a-f]{40}${END}`),
  form('Sourcegraph', 'sgp_', '(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}'),
  form('Sourcegraph', 'slk_', '[0-9a-f]{64}'),
  form('Typeform', 'tfp_', '[A-Za-z0-9_.=-]{59}'),
  form('Ubidots', 'BBFF-', '[A-Za-z0-9]{30}'),
  form('Yandex', 'AQVN', `[A-Za-z0-9_-]{35,38}${END_OF_WORD}`),
  form('Yandex', 'YC', `[A-Za-z0-9_-]{38}${END_OF_WORD}`, 'weak'),
  form('Yandex', 't1.', '[A-Za-z0-9_-]{20,300}={0,2}\\.[A-Za-z0-9_-]{86}={0,2}'),
  form('Tailscale', 'tskey-auth- tskey-api- tskey-client- tskey-', '[A-Za-z0-9-]{20,80}'),
  form('Buildkite', 'bkua_', '[0-9a-f]{40}'),
  form('CircleCI', 'CCIPAT_ CCIPRJ_', '[A-Za-z0-9]{22}_[0-9a-f]{40}'),
  form('Ory', 'ory_st_ ory_at_ ory_rt_ ory_pat_', '[A-Za-z0-9_.-]{32,100}'),
  form('Paddle', 'pdl_live_apikey_ pdl_sdbx_apikey_', '[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}'),
  form('Razorpay', 'rzp_live_ rzp_test_', '[A-Za-z0-9]{14}'),
  form('Klarna', 'klarna_live_api_ klarna_test_api_', '[A-Za-z0-9+/=_-]{30,120}'),
  form('Toss Payments and others', 'live_sk_ test_sk_', '[A-Za-z0-9]{20,60}', 'weak'),
  form('Sidegate', 'sgate_live_', `[A-Za-z0-9]{49}${END}`),
  // RFC 7519: two objects and a signature, which may be missing.
  form(
    'JSON web token',
    'eyJ',
    '[A-Za-z0-9_-]{8,4000}\\.[A-Za-z0-9_-]{8,12000}\\.[A-Za-z0-9_-]{0,2000}',
    'none',
  ),
  form('JSON web token in base64', 'ZXlK', '[A-Za-z0-9+/]{80,12000}={0,2}', 'none'),
  // The start of a private key in DER (RFC 8017, RFC 5915, RFC 8410) or OpenSSH's form.
  form(
    'RSA key without a header',
    'MII',
    '[A-Z][A-Za-z0-9+/][AQgw]IBA(?:DAN|AKC)[A-Za-z0-9+/]{40,12000}={0,2}',
  ),
  form(
    'other keys without a header',
    'MHcCAQEEI MIGHAgEAMBMGByqGSM49 MC4CAQAwBQYDK2VwBCIEI b3BlbnNzaC1rZXktdjEA',
    '[A-Za-z0-9+/]{30,12000}={0,2}',
  ),
  form('configuration of Docker', 'eyJhdXRocyI6', '[A-Za-z0-9+/]{40,12000}={0,2}'),
  // Base64 of `-----BEGIN … PRIVATE KEY`.
  form(
    'PEM in base64',
    'LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktL LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0t LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0t ' +
      'LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZ LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVkt',
    '[A-Za-z0-9+/]{40,12000}={0,2}',
  ),
]

const escaped = (literal: string): string => literal.replace(/[.$]/g, '\\$&')
const prefixesOf = ({ prefixes }: TokenForm): string[] => prefixes.split(' ')
const beginningOf = (first: number, second: number): number => first * 128 + second

/** Forms by their first two characters. */
const BY_BEGINNING: ReadonlyMap<number, readonly MatchedForm[]> = byBeginning()

interface MatchedForm {
  readonly pattern: RegExp
  readonly test: Test
}

function byBeginning(): Map<number, MatchedForm[]> {
  const map = new Map<number, MatchedForm[]>()
  for (const form of TOKEN_FORMS) {
    const { rest, test } = form
    const groups = Map.groupBy(prefixesOf(form), (prefix) =>
      beginningOf(prefix.charCodeAt(0), prefix.charCodeAt(1)),
    )
    for (const [beginning, prefixes] of groups) {
      const pattern = new RegExp(`(?:${prefixes.map(escaped).join('|')})(?:${rest})`, 'y')
      map.set(beginning, [...(map.get(beginning) ?? []), { pattern, test }])
    }
  }
  return map
}

const BEGINNINGS = new Uint8Array(128 * 128)
for (const beginning of BY_BEGINNING.keys()) BEGINNINGS[beginning] = 1

/** Reports whether a token may start with two characters. */
export const mayBeginToken = (first: number, second: number): boolean =>
  BEGINNINGS[beginningOf(first, second)] === 1

/** A token and how to test it. */
export interface TokenMatch {
  readonly value: string
  readonly test: Test
}

/** Yields the tokens of every form that start at an offset. */
export function* tokensAt(text: string, start: number): Generator<TokenMatch> {
  if (start + 1 >= text.length) return
  const forms = BY_BEGINNING.get(beginningOf(text.charCodeAt(start), text.charCodeAt(start + 1)))
  for (const { pattern, test } of forms ?? []) {
    pattern.lastIndex = start
    const value = pattern.exec(text)?.[0].replace(/\.+$/, '')
    if (value !== undefined) yield { value, test }
  }
}

const PARTS = /\[[^\]]*\]\{(?:\d+,)?(?<most>\d+)\}/g

/** Characters of the longest token of a form after its prefix. */
function longestOf({ rest }: TokenForm): number {
  let most = 0
  for (const part of rest.matchAll(PARTS)) most += Number(part.groups!['most'])
  return most
}

/** A pattern for the prefixes of tokens that may have more than `characters` after the prefix. */
export const startOfLonger = (characters: number): RegExp =>
  new RegExp(
    `(?<![A-Za-z0-9])(?:${TOKEN_FORMS.filter((form) => longestOf(form) > characters)
      .flatMap((form) => prefixesOf(form).map(escaped))
      .join('|')})`,
  )
