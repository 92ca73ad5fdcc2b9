import { describe, expect, test } from 'vitest'
import { ownWords } from './own-words.ts'

describe('ownWords', () => {
  test.each([
    ['On Mon, Ada <a@b.c> wrote:\n> Hello', ''],
    ['Yes.\n\nOn Mon, 9 Mar 2026 at 10:00, Ada Lovelace\n<ada@example.com> wrote:\n> Hello', 'Yes.'],
    ['Ja.\n\nAm 09.03.2026 um 10:00 schrieb Ada:\n> Hallo', 'Ja.'],
    ['Oui.\n\nLe lun. 9 mars 2026 à 10:00, Ada <a@b.c> a écrit :\n> Bonjour', 'Oui.'],
    ['Yes.\n\n-----Original Message-----\nFrom: Ada', 'Yes.'],
    ['Yes.\n\n________________________________\nFrom: Ada', 'Yes.'],
    ['Yes.\n\nVon: Ada <ada@example.com>\nGesendet: Montag', 'Yes.'],
    ['Yes.\n-- \nGrace Hopper', 'Yes.'],
    ['Yes.\n\nSent from my phone', 'Yes.'],
    ['Yes.\n\nVon meinem iPhone gesendet', 'Yes.'],
    ['> Is it?\nYes.', 'Yes.'],
  ])('of %j are %j', (text, own) => expect(ownWords(text)).toBe(own))

  test('are found in linear time', () => {
    for (const text of [
      'On '.repeat(50_000),
      'wrote:\n'.repeat(20_000),
      `${'a '.repeat(60_000)}wrote`,
      '>'.repeat(200_000),
    ])
      expect(ownWords(text).length).toBeLessThanOrEqual(16 * 1024)
  })
})
