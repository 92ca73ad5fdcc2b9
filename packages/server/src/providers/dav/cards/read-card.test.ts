import { describe, expect, test } from 'vitest'
import { UnreadableCard } from './card.ts'
import { readCard } from './read-card.ts'

const cardOf = (version: string, ...lines: string[]): Buffer =>
  Buffer.from(['BEGIN:VCARD', `VERSION:${version}`, ...lines, 'END:VCARD', ''].join('\r\n'))
const read = (...lines: string[]) => readCard(cardOf('3.0', ...lines))
const fieldsOf = (...lines: string[]) => read(...lines).fields

describe('readCard', () => {
  test.each([
    ['FN', ['FN:A B'], 'A B'],
    ['FN with escapes', [String.raw`FN:A\, B\n\; C`], 'A, B ; C'],
    ['given and family name without FN', ['N:Fam;Giv;Mid;;'], 'Giv Fam'],
    ['given name alone', ['N:;Giv', 'ORG:Org'], 'Giv'],
    ['names with a blank FN', ['FN: ', 'N:Fam'], 'Fam'],
    ['organization without names', ['N:;;;;', 'ORG:Org;Dep'], 'Org'],
    ['nothing', ['ORG:;Dep', 'NICKNAME:Nick'], null],
    ['the first FN', ['FN:A', 'FN:B'], 'A'],
  ])('takes the display name of %s', (_, lines, displayName) => {
    expect(fieldsOf(...lines).displayName).toBe(displayName)
  })

  test.each([
    ['five parts', 'N:Fam;Giv;Mid;Pre;Suf', ['Giv', 'Mid', 'Fam']],
    ['lists', 'N:Fam,Ily;Giv, En;M,I,D;;', ['Giv En', 'M I D', 'Fam Ily']],
    ['escaped commas', String.raw`N:Fam\, Ily;Giv\;En`, ['Giv;En', null, 'Fam, Ily']],
    ['empty elements', 'N:,Fam,;;', [null, null, 'Fam']],
    ['one part', 'N:Fam', [null, null, 'Fam']],
  ])('reads a name with %s', (_, line, names) => {
    const { givenName, middleName, familyName } = fieldsOf(line)
    expect([givenName, middleName, familyName]).toEqual(names)
  })

  test('reads the first nickname, and the first two parts of an organization', () => {
    const fields = fieldsOf('NICKNAME:One,Two', String.raw`ORG:A\;B;C,D;E`, 'TITLE:T', 'TITLE:U')
    expect(fields).toMatchObject({ nickname: 'One', organization: 'A;B', department: 'C,D', jobTitle: 'T' })
  })

  test('reads notes with their line breaks, and without other control characters', () => {
    expect(fieldsOf('NOTE:a\\nb\\N\x07c\\, d').notes).toBe('a\nb\nc, d')
    expect(fieldsOf('NOTE: \\n ').notes).toBeNull()
  })

  test.each([
    ['TEL;TYPE=HOME,FAX:1', 'fax'],
    ['TEL;TYPE=WORK;TYPE=CELL:1', 'mobile'],
    ['TEL;TYPE=WORK,PAGER:1', 'pager'],
    ['TEL;TYPE=WORK,MAIN:1', 'main'],
    ['TEL;TYPE=HOME,WORK:1', 'work'],
    ['TEL;TYPE=home;TYPE=pref:1', 'home'],
    ['TEL;TYPE="voice,home":1', 'home'],
    ['TEL;HOME;VOICE:1', 'home'],
    ['TEL;TYPE=VOICE:1', 'other'],
    ['TEL;X-TYPE=HOME:1', 'other'],
    ['TEL:1', 'other'],
  ])('reads the type of %s', (line, type) => {
    expect(fieldsOf(line).phones).toEqual([{ number: '1', type }])
  })

  test.each([
    ['EMAIL;TYPE=HOME,WORK:a@b.c', 'home'],
    ['EMAIL;TYPE=INTERNET;TYPE=WORK;TYPE=HOME:a@b.c', 'work'],
    ['EMAIL;TYPE=CELL:a@b.c', 'other'],
    ['EMAIL;INTERNET:a@b.c', 'other'],
  ])('reads the type of %s', (line, type) => {
    expect(fieldsOf(line).emails).toEqual([{ address: 'a@b.c', type }])
  })

  test.each([
    ['_$!<Work>!$_', 'TEL', 'work'],
    ['_$!<HomeFAX>!$_', 'TEL', 'fax'],
    ['_$!<Other>!$_', 'TEL', 'other'],
    ['Work', 'TEL', 'other'],
    ['Boat', 'TEL;TYPE=CELL', 'mobile'],
    ['_$!<Main>!$_', 'TEL;TYPE=HOME', 'main'],
  ])('reads the label %s of %s', (label, name, type) => {
    expect(fieldsOf(`item1.${name}:1`, `ITEM1.X-ABLabel:${label}`, 'item2.X-ABLabel:x').phones).toEqual([
      { number: '1', type },
    ])
  })

  test.each([
    ['TEL:tel:+1-555;ext=7', '+1-555'],
    ['TEL;VALUE=uri:TEL:%2B1%20555', '+1 555'],
    ['TEL:tel:%zz', '%zz'],
    [String.raw`TEL:+1\,\,2`, '+1,,2'],
    ['TEL:sip:a@b.c', 'sip:a@b.c'],
  ])('shows the number of %s', (line, number) => {
    expect(fieldsOf(line).phones).toEqual([{ number, type: 'other' }])
  })

  test('leaves blank values out of lists, and shows a hundred', () => {
    expect(fieldsOf('TEL:', 'TEL:tel:', 'EMAIL: ').phones).toEqual([])
    expect(fieldsOf(...Array.from({ length: 101 }, () => 'TEL:1')).phones).toHaveLength(100)
  })

  test.each([
    ['BDAY:1985-04-12', '1985-04-12'],
    ['BDAY:19850412', '1985-04-12'],
    ['BDAY:1985-04-12T00:00:00Z', '1985-04-12'],
    ['BDAY;VALUE=date-time:19850412T231000.5-0500', '1985-04-12'],
    ['BDAY:19850412Z', '1985-04-12'],
    ['BDAY:--0412', '--04-12'],
    ['BDAY:--04-12', '--04-12'],
    ['BDAY:--0229T10', '--02-29'],
    ['BDAY;X-APPLE-OMIT-YEAR=1604:1604-02-29', '--02-29'],
    ['BDAY;X-APPLE-OMIT-YEAR=1604:1985-02-28', '1985-02-28'],
    ['BDAY:1604-02-29', '1604-02-29'],
    ['BDAY:2023-02-29', null],
    ['BDAY:--0230', null],
    ['BDAY:0000-04-12', null],
    ['BDAY:1985-13-01', null],
    ['BDAY:1985-04', null],
    ['BDAY:1985', null],
    ['BDAY:---12', null],
    ['BDAY;VALUE=text:circa 1800', null],
    ['BDAY:', null],
  ])('reads %s', (line, birthday) => {
    expect(fieldsOf(line).birthday).toBe(birthday)
  })

  test.each([
    ['KIND:group', 'group'],
    ['X-ADDRESSBOOKSERVER-KIND:GROUP', 'group'],
    ['KIND:individual', 'contact'],
    ['KIND:org', 'contact'],
    ['X-KIND:group', 'contact'],
  ])('takes a card with %s for a %s', (line, kind) => {
    expect(read(line).kind).toBe(kind)
  })

  test.each([
    ['REV:20260102T030405Z', '2026-01-02T03:04:05.000Z'],
    ['REV:2026-01-02T03:04:05.678+01:00', '2026-01-02T02:04:05.000Z'],
    ['REV:20260102T030405-0530', '2026-01-02T08:34:05.000Z'],
    ['REV:2026-01-02', '2026-01-02T00:00:00.000Z'],
    ['REV:2026-13-02', undefined],
    ['REV:yesterday', undefined],
    ['NOTE:x', undefined],
  ])('reads the time of %s', (line, time) => {
    expect(read(line).revisedAt?.toISOString()).toBe(time)
  })

  test.each([
    ['2.1', '2.1'],
    ['3.0', '3.0'],
    ['4.0', '4.0'],
    [' 4.0 ', '4.0'],
    ['x', '3.0'],
  ])('takes version %j for %s', (written, version) => {
    expect(readCard(cardOf(written, 'UID:urn:uuid:1')).version).toBe(version)
  })

  test('reads the UID as it is', () => {
    expect([read('UID:urn:uuid:1').uid, read('FN:x').uid]).toEqual(['urn:uuid:1', null])
  })

  test('reads nothing of an inner card', () => {
    expect(fieldsOf('BEGIN:VCARD', 'TEL:1', 'FN:Inner', 'END:VCARD')).toMatchObject({
      phones: [],
      displayName: null,
    })
  })

  test('cuts a long name between characters', () => {
    expect(fieldsOf(`FN:x${'😀'.repeat(1000)}`).displayName).toBe(`x${'😀'.repeat(499)}`)
  })

  test.each(['', 'x', 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n', 'X'.repeat(5 * 1024 * 1024 + 1)])(
    'refuses a file without a card, or one that is too large (%#)',
    text => {
      expect(() => readCard(Buffer.from(text))).toThrow(UnreadableCard)
    },
  )
})
