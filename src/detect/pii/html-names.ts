// Names of HTML for the characters that occur in values of personal data, and for those that nobody
// sees (HTML §13.5).

/** Names by the character that they mean. */
const NAMES: Readonly<Record<string, string>> = {
  ' ': 'nbsp NonBreakingSpace ensp emsp emsp13 emsp14 numsp puncsp thinsp ThinSpace hairsp VeryThinSpace MediumSpace',
  '\t': 'Tab',
  '\n': 'NewLine',
  '@': 'commat',
  '+': 'plus',
  ':': 'colon',
  '.': 'period',
  '-': 'hyphen dash',
  '\u2013': 'ndash',
  '\u2014': 'mdash',
  '\u2212': 'minus',
  '(': 'lpar',
  ')': 'rpar',
  '/': 'sol',
  ',': 'comma',
  ';': 'semi',
  _: 'lowbar UnderBar',
  '=': 'equals',
  '#': 'num',
  '%': 'percnt',
  '"': 'quot QUOT',
  "'": 'apos',
  '|': 'vert verbar VerticalLine',
  '\u00b7': 'middot centerdot CenterDot',
  '': 'shy zwnj zwj lrm rlm ZeroWidthSpace NegativeThinSpace NegativeMediumSpace NegativeThickSpace NegativeVeryThinSpace NoBreak InvisibleTimes it InvisibleComma ic ApplyFunction af',
}

/** Longest name, in characters. */
export const MAXIMUM_NAME = 24

const CHARACTERS = new Map(
  Object.entries(NAMES).flatMap(([character, names]) => names.split(' ').map((name) => [name, character])),
)

/** The character of a name; empty for an invisible one, undefined for an unknown name. */
export const namedCharacter = (name: string): string | undefined => CHARACTERS.get(name)
