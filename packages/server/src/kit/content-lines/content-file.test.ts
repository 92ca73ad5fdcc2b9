import { describe, expect, test } from 'vitest'
import { type Component, FILE_BYTES_MAX, FileRefused, splitFile } from './content-file.ts'

const split = (text: string) => splitFile(Buffer.from(text))
const rawOf = (text: string) => split(text).lines.map(({ raw }) => raw)

describe('splitFile', () => {
  test.each([
    ['CRLF', 'A:1\r\nB:2\r\n', ['A:1', 'B:2']],
    ['LF', 'A:1\nB:2\n', ['A:1', 'B:2']],
    ['CR', 'A:1\rB:2\r', ['A:1', 'B:2']],
    ['CR CR LF', 'A:1\r\r\nB:2\r\r\n', ['A:1', 'B:2']],
    ['no ending at the end', 'A:1\r\nB:2', ['A:1', 'B:2']],
    ['folds with a blank and with a tab', 'A:1\r\n 2\r\n\t3\r\nB:\r\n  4\r\n', ['A:123', 'B: 4']],
    ['folds within a name', 'DES\r\n CRIPTION:x\r\n', ['DESCRIPTION:x']],
    ['a CR beside LF', 'A:1\r2\nB:2\n', ['A:1\r2', 'B:2']],
    ['blank lines', 'A:1\r\n\r\nB:2\r\n', ['A:1', '', 'B:2']],
    ['a blank at the beginning', ' A:1\r\nB:2\r\n', [' A:1', 'B:2']],
    [
      'soft breaks',
      'A;ENCODING=QUOTED-PRINTABLE:1=\r\n2=\r\n 3\r\nB:x=\r\nC:y\r\n',
      ['A;ENCODING=QUOTED-PRINTABLE:12 3', 'B:x=', 'C:y'],
    ],
    ['a soft break before END', 'A;QUOTED-PRINTABLE:1=\r\nEND:X\r\n', ['A;QUOTED-PRINTABLE:1=', 'END:X']],
    ['nothing', '', []],
  ])('joins lines with %s', (_, text, lines) => {
    expect(rawOf(text)).toEqual(lines)
  })

  test('leaves a byte order mark out of the first line', () => {
    const { lines } = split('\ufeffA:1\r\n')
    expect(lines).toMatchObject([{ start: 3, end: 8, raw: 'A:1', ending: '\r\n' }])
  })

  test('has all bytes in its lines, in their order', () => {
    const text = 'BEGIN:A\r\nno colon\r\n\r\nX:1\n 2\r\r\nEND:A'
    const { bytes, lines } = split(text)
    expect(lines.map(({ start, end }) => bytes.subarray(start, end).toString()).join('')).toBe(text)
    expect(lines.map(({ content }) => content?.name)).toEqual(['BEGIN', undefined, undefined, 'X', 'END'])
  })

  test.each([
    ['a component', 'BEGIN:A\nX:1\nEND:A\nY:1\n', 'A(1)2'],
    ['names in any case', 'begin:a\nX:1\nEnd: A \n', 'A(1)2'],
    ['inner components', 'BEGIN:A\nX:1\nBEGIN:B\nY:1\nEND:B\nZ:1\nEND:A\n', 'A(1,5,B(3)4)6'],
    ['several ones', 'BEGIN:A\nEND:A\nX:1\nBEGIN:B\nEND:B\n', 'A()1 B()4'],
    ['an END that is missing', 'BEGIN:A\nX:1\n', 'A(1)-'],
    ['an inner END that is missing', 'BEGIN:A\nBEGIN:B\nX:1\nEND:A\nY:1\n', 'A(B(2)-)3'],
    ['an END that ends nothing', 'END:B\nBEGIN:A\nEND:B\nEND:A\n', 'A(2)3'],
  ])('nests %s', (_, text, expected) => {
    const show = ({ name, lines, components, end }: Component): string =>
      `${name}(${[...lines, ...components.map(show)].join(',')})${end ?? '-'}`
    expect(split(text).components.map(show).join(' ')).toBe(expected)
  })

  test.each([
    ['bytes', 'x'.repeat(FILE_BYTES_MAX), 'x'.repeat(FILE_BYTES_MAX + 1)],
    ['lines', 'X:\n'.repeat(100_000), 'X:\n'.repeat(100_001)],
    ['components', 'BEGIN:A\nEND:A\n'.repeat(10_000), 'BEGIN:A\nEND:A\n'.repeat(10_001)],
    ['components in each other', 'BEGIN:A\n'.repeat(20), 'BEGIN:A\n'.repeat(21)],
  ])('refuses a file with too many %s', (_, largest, tooLarge) => {
    expect(() => split(largest)).not.toThrow()
    expect(() => split(tooLarge)).toThrow(FileRefused)
  })
})
