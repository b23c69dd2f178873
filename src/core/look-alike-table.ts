// Lists letters of other scripts that look like Latin ones. Data only: the injection score and names of
// people fold them. Chosen by eye from Unicode's confusables (UTS #39) among the lower-case forms that
// folding leaves.

const PAIRS =
  'аa вb сc ԁd еe ғf һh іi ӏl јj кk ӄk мm нh оo рp ԛq гr ѕs тt υu ѵv ѡw ԝw хx уy үy ' +
  'αa βb ϲc δd εe ηn ιi κk νv οo ρp σo τt χx ωw γy ' +
  'ցg հh օo ոn սu ѐe әe ъb ьb ԍg пn лn дa фo зe'

/** The code unit of the Latin letter by the code unit of its look-alike; zero for other units. */
export const LOOK_ALIKES = new Uint16Array(0x10000)
for (const pair of PAIRS.split(' ')) LOOK_ALIKES[pair.charCodeAt(0)] = pair.charCodeAt(1)
