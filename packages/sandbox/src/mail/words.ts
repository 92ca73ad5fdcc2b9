export interface Person {
  name: string
  email: string
}

const person = (name: string, email: string): Person => ({ name, email })

export const PEOPLE: readonly [Person, ...Person[]] = [
  person('Ada Lovelace', 'ada@gmail.test'),
  person('Ben Carter', 'ben@gmail.test'),
  person('Cleo Okafor', 'cleo@corp.test'),
  person('Dora Lindqvist', 'dora@example.test'),
  person('Émile Zürcher', 'emile@example.test'),
  person('山田 花子', 'hanako@example.test'),
  person('Jones, Sam (Billing)', 'billing@shop.example.test'),
  person('Newsletter', 'news@list.example.test'),
  person('', 'no-reply@example.test'),
]

export const SUBJECTS: readonly [string, ...string[]] = [
  'Lunch on Thursday?',
  'Minutes of the meeting',
  'Your invoice',
  'Trip to Lisbon',
  'Grüße aus Köln',
  'Re-opening of the garden',
  'お知らせ',
  'Build failed on main',
  'A question about the contract, and some notes on the long road that leads from here to a signature',
  '50% off everything & more <today>',
  'Photos 📷',
]

const WORDS =
  'the a of to and in for on with at by from meeting report draft garden river letter budget answer question summer winter train ticket hotel office window number invoice photo music coffee market friend project plan team note week month year price order question weather "quoted" it\'s R&D <b>'.split(
    ' ',
  )

/** A sentence of this many words. */
export function sentence(count: number, integer: (end: number) => number): string {
  const words = Array.from({ length: count }, () => WORDS[integer(WORDS.length)])
  return `${words.join(' ').replace(/^./, letter => letter.toUpperCase())}.`
}
