// Letters of other scripts that are drawn like Latin ones. Data only; when to believe them is decided in tokens.ts.
// Chosen by eye from Unicode's confusables (UTS #39) for the lower-case forms that remain after folding.

const PAIRS =
  'аa вb сc ԁd еe ғf ɡg һh іi ӏl јj кk ӄk мm нh оo рp ԛq гr ѕs тt υu ѵv ѡw ԝw хx уy үy ' +
  'αa βb ϲc δd εe ηn ιi κk νv οo ρp σo τt χx ωw γy ' +
  'ցg հh օo ոn սu ѐe әe ъb ьb ԍg пn лn дa фo зe'

/** UTF-16 code unit of a look-alike to the code unit of the Latin letter; zero where there is none. */
export function homoglyphTable(): Uint16Array {
  const table = new Uint16Array(0x10000)
  for (const pair of PAIRS.split(' ')) table[pair.charCodeAt(0)] = pair.charCodeAt(1)
  return table
}
