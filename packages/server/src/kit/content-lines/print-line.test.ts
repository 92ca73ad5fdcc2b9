import { describe, expect, test } from 'vitest'
import { readLine } from './content-line.ts'
import { LineRefused, makeParameter, printLine } from './print-line.ts'

const print = (value: string, ...parameters: Array<[string, string[]]>) =>
  printLine(
    { rawName: 'NOTE', parameters: parameters.map(([name, values]) => makeParameter(name, values)), value },
    '\r\n',
  ).toString()

describe('printLine', () => {
  test.each([
    ['a line', 'x', 'NOTE:x\r\n'],
    ['nothing', '', 'NOTE:\r\n'],
    ['75 bytes', 'x'.repeat(70), `NOTE:${'x'.repeat(70)}\r\n`],
    ['76 bytes', 'x'.repeat(71), `NOTE:${'x'.repeat(70)}\r\n x\r\n`],
    ['three lines', 'x'.repeat(145), `NOTE:${'x'.repeat(70)}\r\n ${'x'.repeat(74)}\r\n x\r\n`],
    ['a character at the fold', `${'x'.repeat(69)}ä`, `NOTE:${'x'.repeat(69)}\r\n ä\r\n`],
    ['an emoji at the fold', `${'x'.repeat(67)}😀`, `NOTE:${'x'.repeat(67)}\r\n 😀\r\n`],
    ['a blank at the fold', `${'x'.repeat(70)} y`, `NOTE:${'x'.repeat(69)}\r\n x y\r\n`],
    ['many blanks', `${' '.repeat(90)}y`, `NOTE:${' '.repeat(90)}\r\n y\r\n`],
    ['many blanks within', `x${' '.repeat(90)}yz`, `NOTE:\r\n x${' '.repeat(90)}\r\n yz\r\n`],
    ['blanks at the end', `y${' '.repeat(90)}`, `NOTE:\r\n y${' '.repeat(90)}\r\n`],
    ['other white space', `${'x'.repeat(68)}\u00a0\u3000y`, `NOTE:${'x'.repeat(67)}\r\n x\u00a0\u3000y\r\n`],
  ])('prints %s', (_, value, expected) => {
    expect(print(value)).toBe(expected)
  })

  test('prints parameters as they were read', () => {
    const line = readLine(Buffer.from('item1.Tel;Type="a:b";pref;X=ä:1').toString('latin1'))!
    expect(printLine({ ...line, value: '2' }, '\n').toString()).toBe('item1.Tel;Type="a:b";pref;X=ä:2\n')
  })

  test.each([
    ['a word', ['HOME'], 'A=HOME'],
    ['several words', ['HOME', 'a b'], 'A=HOME,"a b"'],
    ['delimiters', ['a;b:c,d'], 'A="a;b:c,d"'],
    ['a quote', ['say "x"'], `A="say ^'x^'"`],
    ['a caret and a line break', ['^n\n'], 'A="^^n^n"'],
    ['nothing', [''], 'A='],
  ])('prints a parameter with %s, which is read again', (_, values, expected) => {
    const parameter = makeParameter('A', values)
    expect(parameter.raw).toBe(expected)
    expect(readLine(`X;${parameter.raw}:v`)?.parameters[0]?.values).toEqual(values)
  })

  test('breaks quoted-printable softly', () => {
    const printed = print(`${'ä'.repeat(20)}\n.`, ['ENCODING', ['QUOTED-PRINTABLE']])
    const lines = printed.trimEnd().split('\r\n')
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(75)
    expect(lines.slice(0, -1).every(line => line.endsWith('='))).toBe(true)
    expect(readLine(lines.map(line => line.replace(/=$/, '')).join(''))?.value).toBe(`${'ä'.repeat(20)}\r\n.`)
  })

  test.each(['a\nb', 'a\rb', 'a\0', 'a\u0085b', 'a\u2028b', '\x1b[0m', '\ud800'])(
    'refuses the value %j',
    value => {
      expect(() => print(value)).toThrow(LineRefused)
    },
  )

  test.each(['', 'A B', 'A\nB', 'A;B', 'A:B', '.A', 'Ä'])('refuses the name %j', rawName => {
    expect(() => printLine({ rawName, parameters: [], value: '' }, '\n')).toThrow(LineRefused)
  })

  test.each([
    ['a control character', 'A', ['\r']],
    ['half a character', 'A', ['\ud800']],
    ['no name', 'A B', ['x']],
  ])('refuses a parameter with %s', (_, name, values) => {
    expect(() => makeParameter(name, values)).toThrow(LineRefused)
  })
})
