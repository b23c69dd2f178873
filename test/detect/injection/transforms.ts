// Lists the disguises that are meant to hide a text from a filter but not from a model.

export interface Transform {
  readonly name: string
  readonly apply: (text: string) => string
}

const bytes = (text: string) => Buffer.from(text)
const eachVisible = (text: string, shift: number) =>
  text.replace(/[!-~]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + shift))

/** Shared, so that training, tests and the bench mean the same by a name. */
export const TRANSFORMS: readonly Transform[] = [
  { name: 'zero-width', apply: (text) => text.split('').join('\u200b') },
  {
    name: 'homoglyphs',
    apply: (text) => text.replace(/[aeopcyx]/g, (letter) => 'аеорсух'.charAt('aeopcyx'.indexOf(letter))),
  },
  { name: 'full width', apply: (text) => eachVisible(text, 0xfee0) },
  { name: 'base64', apply: (text) => bytes(text).toString('base64') },
  {
    name: 'base64 twice',
    apply: (text) => bytes(bytes(text).toString('base64')).toString('base64'),
  },
  { name: 'hexadecimal', apply: (text) => bytes(text).toString('hex') },
  {
    name: 'leet',
    apply: (text) =>
      text.replace(/[oieast]/gi, (letter) => '013457'.charAt('oieast'.indexOf(letter.toLowerCase()))),
  },
  {
    name: 'spaced',
    apply: (text) =>
      text
        .split(' ')
        .map((word) => word.split('').join(' '))
        .join('   '),
  },
  { name: 'tag characters', apply: (text) => eachVisible(text, 0xe0000) },
  { name: 'accents', apply: (text) => text.replace(/[a-z]/g, '$&\u0316\u0347') },
  { name: 'percent escapes', apply: (text) => bytes(text).toString('hex').replace(/../g, '%$&') },
  {
    name: 'rot13',
    apply: (text) =>
      text.replace(/[a-z]/gi, (letter) => {
        const base = letter < 'a' ? 0x41 : 0x61
        return String.fromCharCode(base + ((letter.charCodeAt(0) - base + 13) % 26))
      }),
  },
  { name: 'reversal', apply: (text) => text.split('').reverse().join('') },
]
