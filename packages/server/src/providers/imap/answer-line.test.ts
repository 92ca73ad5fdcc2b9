import { describe, expect, test } from 'vitest'
import { cutAnswer } from './answer-line.ts'

const LINE_BYTES = 8192
const numbers = Array.from({ length: 10_000 }, (_, at) => 1_000_000 + 2 * at)
const cut = (line: string) =>
  cutAnswer(Buffer.from(line, 'latin1'), LINE_BYTES)?.map(piece => piece.toString('latin1'))

describe('cutAnswer', () => {
  test.each([
    ['* SEARCH ', ' '],
    ['* ESEARCH (TAG "1F") UID ALL ', ','],
    ['* VANISHED (EARLIER) ', ','],
    ['* VANISHED ', ','],
  ])('cuts a long answer of %s into answers that hold the same numbers', (prefix, separator) => {
    const pieces = cut(prefix + numbers.join(separator)) ?? []
    expect(pieces.length).toBeGreaterThan(10)
    for (const piece of pieces) expect(piece.length).toBeLessThan(4096 + 50)
    for (const piece of pieces) expect(piece.startsWith(prefix)).toBe(true)
    const held = pieces.flatMap(piece => piece.slice(prefix.length).split(separator).map(Number))
    expect(held).toEqual(numbers)
  })

  test.each([
    ['a short answer', '* 1 EXISTS'],
    ['a list of flags', `* FLAGS (${'\\Flag '.repeat(1000)}x)`],
  ])('leaves %s as it is', (_, line) => {
    expect(cut(line)).toEqual([line])
  })

  test.each([
    ['a mailbox with a name of 400 KB', `* LIST () "/" "${'x'.repeat(400_000)}"`],
    ['a set where none belongs', `* 1 FETCH (UID ${numbers.slice(0, 800).join(',')})`],
    ['one endless number', `* SEARCH ${'1'.repeat(20_000)}`],
  ])('leaves out %s', (_, line) => {
    expect(cut(line)).toEqual([])
  })

  test.each([
    ['the end of a command', `1F OK ${'x'.repeat(20_000)}`],
    ['a continuation', `+ ${'x'.repeat(20_000)}`],
  ])('does not leave out %s', (_, line) => {
    expect(cutAnswer(Buffer.from(line), LINE_BYTES)).toBeNull()
  })
})
