import { describe, expect, test } from 'vitest'
import { parameterOf, readLine } from './content-line.ts'

/** A line of UTF-8 in the form that is read. */
const raw = (text: string): string => Buffer.from(text).toString('latin1')

describe('readLine', () => {
  test.each([
    ['NOTE:x', null, 'NOTE', [], 'x'],
    ['item1.tel;type=CELL:+1', 'item1', 'TEL', [['TYPE', 'CELL']], '+1'],
    ['a.b.X-Y:', 'a.b', 'X-Y', [], ''],
    [
      'DTSTART;TZID=Europe/Berlin:20261124T090000',
      null,
      'DTSTART',
      [['TZID', 'Europe/Berlin']],
      '20261124T090000',
    ],
    [
      'TEL;HOME;VOICE:1',
      null,
      'TEL',
      [
        [null, 'HOME'],
        [null, 'VOICE'],
      ],
      '1',
    ],
    ['TEL ; TYPE = HOME , "WORK" :1', null, 'TEL', [['TYPE', 'HOME', 'WORK']], '1'],
    ['X;A="b;c:d,e",f:g:h', null, 'X', [['A', 'b;c:d,e', 'f']], 'g:h'],
    ['X;A="b:c', null, 'X', [['A', '"b']], 'c'],
    ["X;A=^'b^' ^^ ^n ^x:v", null, 'X', [['A', '"b" ^ \n ^x']], 'v'],
    [
      'X;;A=:v',
      null,
      'X',
      [
        [null, ''],
        ['A', ''],
      ],
      'v',
    ],
    ['X;A=ä:ü', null, 'X', [['A', 'ä']], 'ü'],
    ['X;ENCODING=QUOTED-PRINTABLE:=C3=A4=3D=zz', null, 'X', [['ENCODING', 'QUOTED-PRINTABLE']], 'ä==zz'],
    [
      'X;QUOTED-PRINTABLE;CHARSET=ISO-8859-1:=E4',
      null,
      'X',
      [
        [null, 'QUOTED-PRINTABLE'],
        ['CHARSET', 'ISO-8859-1'],
      ],
      'ä',
    ],
    [String.raw`X:a\,b\n`, null, 'X', [], String.raw`a\,b\n`],
  ])('reads %j', (text, group, name, parameters, value) => {
    const line = readLine(raw(text))!
    expect([
      line.group,
      line.name,
      line.parameters.map(each => [each.name, ...each.values]),
      line.value,
    ]).toEqual([group, name, parameters, value])
  })

  test.each(['', 'x', ':x', ';A=b:x', 'X;A=b', 'X Y:z', '.X:z', 'a..X:z', 'Ü:z', `${'X'.repeat(201)}:z`])(
    'finds no line in %j',
    text => {
      expect(readLine(raw(text))).toBeNull()
    },
  )

  test('reads bytes that are not UTF-8 as windows-1252', () => {
    expect(readLine('X:\xe4\x80')?.value).toBe('ä€')
  })

  test('keeps a byte order mark in a value', () => {
    expect(readLine(raw('X:\ufeffa'))?.value).toBe('\ufeffa')
  })

  test('keeps name and parameters as written', () => {
    const line = readLine('Item1.Tel;Type="a b";pref:1')!
    expect([line.rawName, ...line.parameters.map(each => each.raw)]).toEqual([
      'Item1.Tel',
      'Type="a b"',
      'pref',
    ])
  })

  test('refuses a long beginning', () => {
    expect(readLine(`X;A=${'a'.repeat(65_530)}:v`)?.value).toBe('v')
    expect(readLine(`X;A=${'a'.repeat(65_540)}:v`)).toBeNull()
  })

  test('refuses more than a thousand parameters', () => {
    expect(readLine(`X${';A'.repeat(1000)}:v`)?.parameters).toHaveLength(1000)
    expect(readLine(`X${';A'.repeat(1001)}:v`)).toBeNull()
  })
})

test('parameterOf finds the first value', () => {
  const line = readLine('X;A=1,2;A=3:v')!
  expect([parameterOf(line, 'A'), parameterOf(line, 'B')]).toEqual(['1', null])
})
