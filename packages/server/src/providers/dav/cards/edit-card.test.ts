import { describe, expect, test } from 'vitest'
import type { ContactChange, ContactFields } from '../../contacts.ts'
import { UnreadableCard } from './card.ts'
import { UnwritableCard } from './check-change.ts'
import { editCard, newCard } from './edit-card.ts'
import { readCard } from './read-card.ts'

/** Lines of a card after a change, without those that every card has. */
function edit(version: string, lines: readonly string[], change: ContactChange): string[] {
  const text = ['BEGIN:VCARD', `VERSION:${version}`, ...lines, 'END:VCARD', ''].join('\n')
  const [, , ...edited] = editCard(Buffer.from(text), change).toString().split('\n')
  return edited.slice(0, -2)
}

const email = (address: string, type: 'home' | 'work' | 'other' = 'other') => ({ address, type })
const phone = (number: string, type: ContactFields['phones'][number]['type'] = 'other') => ({ number, type })

describe('editCard', () => {
  test.each<[string, string[], ContactChange, string[]]>([
    ['a display name', ['FN;X-A=1:A'], { displayName: 'B, C' }, [String.raw`FN;X-A=1:B\, C`]],
    ['names, but not the display name', ['FN:A', 'N:F;G;;;'], { givenName: 'H' }, ['FN:A', 'N:F;H;;;']],
    [
      'a made display name',
      ['FN:A', 'N:F;G;;;'],
      { displayName: null, givenName: 'H' },
      ['FN:H F', 'N:F;H;;;'],
    ],
    ['a display name made of nothing', ['FN:A'], { displayName: null }, ['FN:']],
    ['an absent display name', ['N:F;G;;;'], { displayName: 'G F' }, ['N:F;G;;;', 'FN:G F']],
    ['one part of a name', ['N:F,2;G;M,N;Dr.;Jr.'], { familyName: 'H' }, ['N:H;G;M,N;Dr.;Jr.']],
    ['a part that is equal', ['N:F,2;G'], { familyName: 'F 2', givenName: 'H' }, ['N:F,2;H;;;']],
    [
      'all parts of a name to null',
      ['N:F;G;M;Dr.;'],
      { givenName: null, middleName: null, familyName: null },
      ['N:;;;Dr.;'],
    ],
    ['a name that is absent', [], { givenName: 'G' }, ['N:;G;;;']],
    ['a nickname', ['NICKNAME:A,B'], { nickname: 'C' }, ['NICKNAME:C,B']],
    ['one of several nicknames to null', ['NICKNAME:A,B'], { nickname: null }, ['NICKNAME:,B']],
    ['the only nickname to null', ['NICKNAME:A'], { nickname: null }, []],
    ['an organization', ['ORG:A;B;C'], { organization: 'D;E' }, [String.raw`ORG:D\;E;B;C`]],
    ['a department', ['ORG:A'], { department: 'B' }, ['ORG:A;B']],
    ['all parts of an organization to null', ['ORG:A;B'], { organization: null, department: null }, []],
    ['a job title', ['TITLE;LANGUAGE=en:A'], { jobTitle: 'B' }, ['TITLE;LANGUAGE=en:B']],
    [
      'the first of several titles to null',
      ['TITLE:A', 'TITLE:B'],
      { jobTitle: null },
      ['TITLE:', 'TITLE:B'],
    ],
    ['notes', [], { notes: 'a\r\nb;c' }, [String.raw`NOTE:a\nb\;c`]],
    [
      'notes in quoted-printable',
      ['NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=X;A=b:=41'],
      { notes: 'ä' },
      ['NOTE;A=b:ä'],
    ],
    [
      'a birthday',
      ['BDAY;VALUE=date-time:1985-04-12T00:00:00Z'],
      { birthday: '1986-05-13' },
      ['BDAY:1986-05-13'],
    ],
    [
      'a birthday without a year',
      ['BDAY;value=date:1985-04-12'],
      { birthday: '--02-29' },
      ['BDAY;value=date;X-APPLE-OMIT-YEAR=1604:1604-02-29'],
    ],
    [
      'a year that was omitted',
      ['BDAY;X-APPLE-OMIT-YEAR=1604:1604-04-12'],
      { birthday: '1985-04-12' },
      ['BDAY:1985-04-12'],
    ],
    ['several birthdays to null', ['BDAY:1985-04-12', 'BDAY:1986-04-12'], { birthday: null }, []],
    ['an unreadable birthday to null', ['BDAY:circa 1800'], { birthday: null }, ['BDAY:circa 1800']],
  ])('changes %s', (_, lines, change, expected) => {
    expect(edit('3.0', lines, change)).toEqual(expected)
  })

  test.each<[string, string[], ContactFields['emails'], string[]]>([
    [
      'adds a value',
      ['EMAIL:a@b.c'],
      [email('a@b.c'), email('d@e.f', 'work')],
      ['EMAIL:a@b.c', 'EMAIL;TYPE=WORK:d@e.f'],
    ],
    ['adds the first one', ['NOTE:x'], [email('a@b.c')], ['NOTE:x', 'EMAIL:a@b.c']],
    [
      'keeps what stays',
      ['i.EMAIL;type=HOME;X-A="b;c":a@b.c', 'NOTE:x', 'EMAIL:d@e.f', 'i.X-ABLabel:Boat'],
      [email('a@b.c', 'home')],
      ['i.EMAIL;type=HOME;X-A="b;c":a@b.c', 'NOTE:x', 'i.X-ABLabel:Boat'],
    ],
    [
      'removes the label of what goes',
      ['i.EMAIL:a@b.c', 'i.X-ABLabel:Boat', 'i.X-OTHER:x', 'j.EMAIL:d@e.f', 'j.X-ABLabel:x'],
      [email('a@b.c')],
      ['i.EMAIL:a@b.c', 'i.X-ABLabel:Boat', 'i.X-OTHER:x'],
    ],
    [
      'keeps the label of a group with another line',
      ['i.EMAIL:a@b.c', 'i.URL:x', 'i.X-ABLabel:Boat'],
      [],
      ['i.URL:x', 'i.X-ABLabel:Boat'],
    ],
    [
      'changes a type',
      ['EMAIL;TYPE=INTERNET,HOME,pref;X-A=b:a@b.c'],
      [email('a@b.c', 'work')],
      ['EMAIL;TYPE=INTERNET,pref;X-A=b;TYPE=WORK:a@b.c'],
    ],
    ['takes a type away', ['EMAIL;HOME;INTERNET:a@b.c'], [email('a@b.c')], ['EMAIL;INTERNET:a@b.c']],
    [
      'changes a type that a label gives',
      ['i.EMAIL:a@b.c', 'i.X-ABLabel:_$!<Home>!$_'],
      [email('a@b.c', 'work')],
      ['i.EMAIL;TYPE=WORK:a@b.c'],
    ],
    [
      'takes the type of a label away',
      ['i.EMAIL:a@b.c', 'i.X-ABLabel:_$!<Home>!$_'],
      [email('a@b.c')],
      ['i.EMAIL:a@b.c'],
    ],
    [
      'leaves a label that others share',
      ['i.EMAIL:a@b.c', 'i.URL:x', 'i.X-ABLabel:_$!<Home>!$_'],
      [email('a@b.c')],
      ['EMAIL:a@b.c', 'i.URL:x', 'i.X-ABLabel:_$!<Home>!$_'],
    ],
    ['finds an address in other case', ['EMAIL;X-A=b:A@B.c'], [email('a@b.c')], ['EMAIL;X-A=b:a@b.c']],
    [
      'prefers equal types',
      ['EMAIL;TYPE=HOME:a@b.c', 'EMAIL;TYPE=WORK:a@b.c'],
      [email('a@b.c', 'work')],
      ['EMAIL;TYPE=WORK:a@b.c'],
    ],
    [
      'takes the order of the list',
      ['EMAIL:a@b.c', 'NOTE:x', 'EMAIL;X-A=b:d@e.f'],
      [email('d@e.f'), email('a@b.c')],
      ['EMAIL;X-A=b:d@e.f', 'EMAIL:a@b.c', 'NOTE:x'],
    ],
    [
      'puts new ones between',
      ['EMAIL:a@b.c', 'NOTE:x', 'EMAIL:d@e.f'],
      [email('1@b.c'), email('a@b.c'), email('2@b.c'), email('d@e.f')],
      ['EMAIL:1@b.c', 'EMAIL:a@b.c', 'EMAIL:2@b.c', 'NOTE:x', 'EMAIL:d@e.f'],
    ],
    ['clears the list, but not blank lines', ['EMAIL:a@b.c', 'EMAIL:'], [], ['EMAIL:']],
  ])('of addresses %s', (_, lines, emails, expected) => {
    expect(edit('3.0', lines, { emails })).toEqual(expected)
  })

  test.each<[string, string[], ContactFields['phones'], string[]]>([
    [
      'keeps a custom type',
      ['TEL;TYPE=CELL,X-BOAT:1'],
      [phone('1', 'mobile'), phone('2', 'fax')],
      ['TEL;TYPE=CELL,X-BOAT:1', 'TEL;TYPE=fax:2'],
    ],
    [
      'finds a number that is written differently',
      ['TEL;VALUE=uri;PREF=1:tel:+1-555-0100'],
      [phone('+1 (555) 0100')],
      ['TEL;PREF=1:+1 (555) 0100'],
    ],
    [
      'keeps a URI whose type changes',
      ['TEL;VALUE=uri;TYPE="voice,cell":tel:+1;ext=2'],
      [phone('+1', 'home')],
      ['TEL;VALUE=uri;TYPE=voice;TYPE=home:tel:+1;ext=2'],
    ],
    [
      'takes all words of types away',
      ['TEL;TYPE=work;TYPE=fax:1'],
      [phone('1', 'main')],
      ['TEL;TYPE=main:1'],
    ],
    ['takes the scheme off', [], [phone('tel:+1', 'pager')], ['TEL;TYPE=pager:+1']],
    [
      'changes the type beside a label of the user',
      ['i.TEL;TYPE=cell:1', 'i.X-ABLabel:Boat'],
      [phone('1')],
      ['i.TEL:1', 'i.X-ABLabel:Boat'],
    ],
  ])('of numbers %s', (_, lines, phones, expected) => {
    expect(edit('4.0', lines, { phones })).toEqual(expected)
  })

  test('writes dates of version 4 in the basic form', () => {
    expect(edit('4.0', ['BDAY;VALUE=text:x'], { birthday: '1985-04-12' })).toEqual(['BDAY:19850412'])
    expect(edit('4.0', [], { birthday: '--04-12' })).toEqual(['BDAY:--0412'])
  })

  test('writes texts of version 2.1 in quoted-printable', () => {
    const change = { notes: 'ä\n;', jobTitle: 'plain' }
    const lines = ['TITLE;LANGUAGE=de;CHARSET=ISO-8859-1:x']
    expect(edit('2.1', lines, change)).toEqual([
      'TITLE;LANGUAGE=de:plain',
      'NOTE;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=A4=0D=0A\\;',
    ])
  })

  test('trims names, and takes blank ones for null', () => {
    expect(edit('3.0', ['TITLE:x'], { jobTitle: ' ', nickname: ' a ' })).toEqual(['NICKNAME:a'])
  })

  test.each<ContactChange>([
    { displayName: 'a\nb' },
    { familyName: 'a\rb' },
    { nickname: 'a\0' },
    { organization: 'a\u2028b' },
    { jobTitle: '\ud800' },
    { department: '\x1b' },
    { notes: 'a\tb' },
    { notes: 'a\0' },
    { displayName: 'x'.repeat(1001) },
    { emails: [email('a@b.c\r\nTEL:1')] },
    { emails: [email(' ')] },
    { phones: [phone('1\n')] },
    { phones: [phone('tel:')] },
    { birthday: '--02-30' },
    { birthday: '1985-04-12\r\nX:y' },
    { phones: Array.from({ length: 101 }, () => phone('1')) },
  ])('refuses %j', change => {
    expect(() => edit('3.0', ['FN:x'], change)).toThrow(UnwritableCard)
  })

  test('refuses a file without a card', () => {
    expect(() => editCard(Buffer.from('x'), {})).toThrow(UnreadableCard)
  })
})

describe('newCard', () => {
  const fields: ContactFields = {
    displayName: null,
    givenName: 'G',
    middleName: null,
    familyName: 'F',
    nickname: 'N',
    organization: null,
    jobTitle: 'T',
    department: 'D',
    emails: [email('a@b.c', 'home')],
    phones: [phone('1', 'mobile')],
    birthday: '--04-12',
    notes: 'a\nb',
  }

  test('writes version 3', () => {
    expect(newCard(fields, 'u,1', { version: '3.0' }).toString().split('\r\n')).toEqual([
      'BEGIN:VCARD',
      'VERSION:3.0',
      String.raw`UID:u\,1`,
      'FN:G F',
      'N:F;G;;;',
      'ORG:;D',
      'NICKNAME:N',
      'TITLE:T',
      'EMAIL;TYPE=HOME:a@b.c',
      'TEL;TYPE=CELL:1',
      'BDAY;X-APPLE-OMIT-YEAR=1604:1604-04-12',
      String.raw`NOTE:a\nb`,
      'END:VCARD',
      '',
    ])
  })

  test('writes version 4, which is read as it was meant', () => {
    const card = readCard(newCard(fields, 'u-1', { version: '4.0' }))
    expect(card).toMatchObject({ uid: 'u-1', version: '4.0', kind: 'contact', photo: { type: 'none' } })
    expect(card.fields).toEqual({ ...fields, displayName: 'G F' })
  })

  test('writes an empty display name if there is nothing to make it of', () => {
    const nameless = { ...fields, givenName: null, familyName: null }
    expect(readCard(newCard(nameless, 'u-1', { version: '4.0' })).fields).toEqual(nameless)
  })

  test('refuses a UID with a line break', () => {
    expect(() => newCard(fields, 'u\0', { version: '3.0' })).toThrow(UnwritableCard)
  })
})
