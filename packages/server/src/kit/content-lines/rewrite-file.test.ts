import { describe, expect, test } from 'vitest'
import { FILE_BYTES_MAX, FileRefused, splitFile } from './content-file.ts'
import { LineRefused } from './print-line.ts'
import { type LineSource, rewriteFile } from './rewrite-file.ts'

const line = (rawName: string, value: string) => ({ rawName, parameters: [], value })

function rewrite(
  text: string,
  replacing: Record<number, readonly LineSource[]>,
  inserting: Record<number, readonly LineSource[]> = {},
): string {
  const asMap = (edits: Record<number, readonly LineSource[]>) =>
    new Map(Object.entries(edits).map(([index, sources]) => [Number(index), sources]))
  const file = splitFile(Buffer.from(text))
  return rewriteFile(file, { replacing: asMap(replacing), inserting: asMap(inserting) }).toString()
}

describe('rewriteFile', () => {
  test.each([
    ['nothing', 'A:1\r\n 2\r\nbad\n\nB:2', {}, {}, 'A:1\r\n 2\r\nbad\n\nB:2'],
    ['a line', 'A:1\r\n 2\r\nB:\r\n 3\r\n', { 0: [line('A', 'x')] }, {}, 'A:x\r\nB:\r\n 3\r\n'],
    [
      'a line by several',
      'A:1\nB:2\n',
      { 0: [line('C', '1'), 0, line('D', '2')] },
      {},
      'C:1\nA:1\nD:2\nB:2\n',
    ],
    ['lines by one another', 'A:1\r\n 2\r\nB:2\r\n', { 0: [1], 1: [0] }, {}, 'B:2\r\nA:1\r\n 2\r\n'],
    ['and removes a line', 'A:1\rB:2\rC:3\r', { 1: [] }, {}, 'A:1\rC:3\r'],
    [
      'and adds lines',
      'A:1\rB:2\r',
      {},
      { 1: [line('C', '3')], 2: [line('D', '4')] },
      'A:1\rC:3\rB:2\rD:4\r',
    ],
    ['a line without an ending', 'A:1\nB:2', { 1: [line('B', '3')] }, {}, 'A:1\nB:3\n'],
    ['and adds behind a line without an ending', 'A:1\nB:2', {}, { 2: [line('C', '3')] }, 'A:1\nB:2\nC:3\n'],
    ['lines of a file with a byte order mark', '\ufeffA:1\n', { 0: [line('A', '2')] }, {}, '\ufeffA:2\n'],
    ['lines with odd endings', 'A:1\r\r\nB:2\r\r\n', { 1: [line('B', '3')] }, {}, 'A:1\r\r\nB:3\r\n'],
  ])('replaces %s', (_, text, replacing, inserting, expected) => {
    expect(rewrite(text, replacing, inserting)).toBe(expected)
  })

  test('refuses a line that the one before would take in', () => {
    const text = 'A;QUOTED-PRINTABLE:1=\r\nEND:X\r\n'
    expect(() => rewrite(text, {}, { 1: [line('B', '2')] })).toThrow(LineRefused)
  })

  test('refuses a value that its own parameters would cut', () => {
    const file = splitFile(Buffer.from('A;B="c:1\n'))
    const { content } = file.lines[0]!
    const edits = { replacing: new Map([[0, [{ ...content!, value: 'x":2' }]]]), inserting: new Map() }
    expect(() => rewriteFile(file, edits)).toThrow(LineRefused)
  })

  test('refuses a result that is too large', () => {
    expect(() => rewrite('A:1\n', { 0: [line('A', 'x'.repeat(FILE_BYTES_MAX))] })).toThrow(FileRefused)
  })
})
