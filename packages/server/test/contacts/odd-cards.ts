import { card, WRITTEN_CARDS } from './written-cards.ts'

/* Cards that break rules, or use them to the edge. */

const bytes = (text: string): Buffer => Buffer.from(text)
const lines = (ending: string, ...all: string[]): Buffer => bytes(all.map(line => line + ending).join(''))
const usual = (...own: string[]): string[] => [
  'BEGIN:VCARD',
  'VERSION:3.0',
  'N:Odd;Otto;;;',
  'FN:Otto Odd',
  ...own,
  'UID:odd-1',
  'END:VCARD',
]
/** Folds each line after so many bytes, even within a character. */
function foldedAt(size: number, blank: string, all: readonly string[]): Buffer {
  const pieces = all.flatMap(line => {
    const whole = Buffer.from(line)
    const count = Math.ceil(whole.length / size)
    return Array.from({ length: count }, (_, index) => [
      bytes(index === 0 ? '' : blank),
      whole.subarray(index * size, (index + 1) * size),
      bytes('\r\n'),
    ]).flat()
  })
  return Buffer.concat(pieces)
}

const FAMILY = '👩‍👩‍👧‍👦'

export const ODD_CARDS: Readonly<Record<string, Buffer>> = {
  ...WRITTEN_CARDS,
  'lines that end with LF': lines('\n', ...usual('EMAIL:a@example.org', 'NOTE:x')),
  'lines that end with CR': lines('\r', ...usual('EMAIL:a@example.org', 'NOTE:x', 'TEL;TYPE=HOME:1')),
  'lines that end with CR CR LF': lines('\r\r\n', ...usual('EMAIL:a@example.org', 'NOTE:x')),
  'endings of several sorts': bytes(
    'BEGIN:VCARD\r\nVERSION:3.0\nFN:M\r\nN:M;;;;\nEMAIL:a@example.org\n\n\r\nEND:VCARD\r\n',
  ),
  'no ending after the last line': bytes(usual('TEL:1').join('\r\n')),
  'no END': lines('\r\n', ...usual('TEL:1').slice(0, -1)),
  'no END, and no ending': bytes(usual('TEL:1').slice(0, -1).join('\r\n')),
  'a byte order mark': Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), lines('\r\n', ...usual('NOTE:bom'))]),
  'blank lines and blanks around': bytes(`\r\n\r\n${usual('', 'TEL:1', '').join('\r\n')}\r\n\r\n \r\n`),
  'folds of one byte': foldedAt(1, ' ', usual(`NOTE:${FAMILY} Grüße`, 'EMAIL;TYPE=WORK:ä@example.org')),
  'folds after 75 bytes within emoji': foldedAt(
    75,
    ' ',
    usual(`NOTE:${FAMILY.repeat(20)}`, `NICKNAME:${'é'.repeat(60)}`),
  ),
  'folds with tabs': foldedAt(
    20,
    '\t',
    usual('NOTE:one two three four five six', 'ORG:A long company name;And its part'),
  ),
  'folds within names and parameters': bytes(
    'BEGIN:VC\r\n ARD\r\nVERS\r\n ION:3.0\r\nF\r\n N:F\r\nN:F;;;;\r\nTEL;TY\r\n PE=HO\r\n ME:1\r\nEM\r\n AIL:a@b.example\r\nEND:V\r\n CARD\r\n',
  ),
  'an indented first line': bytes(` ${usual('TEL:1').join('\r\n')}\r\n`),
  'names in lower case': bytes(
    usual('email;type=work:a@example.org', 'x-ablabel:x').join('\r\n').toLowerCase(),
  ),
  'blanks around names': lines('\r\n', ...usual('TEL ;TYPE = HOME :1', 'EMAIL; TYPE=WORK:a@example.org')),
  'malformed lines': lines(
    '\r\n',
    ...usual(
      'no colon at all',
      ':no name',
      ';x=y:z',
      'TEL;TYPE="HOME:1',
      'X Y:z',
      '=:',
      'EMAIL:a@example.org',
      '🙂:x',
    ),
  ),
  'parameters of vCard 2.1 in 3.0': lines(
    '\r\n',
    ...usual('TEL;HOME;FAX:1', 'TEL;CELL:2', 'EMAIL;WORK;INTERNET:a@b.example'),
  ),
  'empty parameters': lines('\r\n', ...usual('TEL;:1', 'TEL;;TYPE=:2', 'EMAIL;TYPE=,HOME,:a@b.example')),
  'quoted parameters': lines(
    '\r\n',
    ...usual('TEL;X-A="a;b:c,d";TYPE="CELL":1', `EMAIL;X-B="^'x^' ^n ^^":a@b.example`),
  ),
  'values with colons and semicolons': lines(
    '\r\n',
    ...usual('TEL:tel:+1;phone-context=x', 'NOTE:a:b;c,d', 'TITLE:x;y'),
  ),
  'several FN and N': lines(
    '\r\n',
    ...usual(
      'FN:Second',
      'N:Second;;;;',
      'TITLE:One',
      'TITLE:Two',
      'NOTE:One',
      'NOTE:Two',
      'NICKNAME:A,B',
      'NICKNAME:C',
      'ORG:One',
      'ORG:Two;X',
      'BDAY:1985-04-12',
      'BDAY:1986-04-12',
    ),
  ),
  'an empty FN': lines('\r\n', 'BEGIN:VCARD', 'VERSION:3.0', 'N:Fam;Giv;;;', 'FN: ', 'END:VCARD'),
  'no FN': lines('\r\n', 'BEGIN:VCARD', 'VERSION:3.0', 'N:Fam;Giv;;;', 'END:VCARD'),
  'no names': lines('\r\n', 'BEGIN:VCARD', 'VERSION:4.0', 'END:VCARD'),
  'no VERSION': lines('\r\n', 'BEGIN:VCARD', 'FN:x', 'N:x', 'TEL;HOME:1', 'END:VCARD'),
  'a name of one part': lines('\r\n', 'BEGIN:VCARD', 'VERSION:3.0', 'FN:x', 'N:x', 'END:VCARD'),
  'a name of seven parts': lines(
    '\r\n',
    'BEGIN:VCARD',
    'VERSION:4.0',
    'FN:x',
    'N:a;b;c;d;e;f;g',
    'END:VCARD',
  ),
  'a name with escapes': lines(
    '\r\n',
    'BEGIN:VCARD',
    'VERSION:3.0',
    String.raw`FN:a\, b\; c\\d`,
    String.raw`N:a\,b;c\;d,e;f\\g;;`,
    'END:VCARD',
  ),
  'escapes that are none': lines(
    '\r\n',
    ...usual(String.raw`NOTE:C:\temp\nnew \: \" \x \\`, String.raw`ORG:a\\;b\\\;c;d`),
  ),
  'a trailing backslash': lines('\r\n', ...usual('NOTE:x\\', 'ORG:a;b\\', 'NICKNAME:a\\')),
  'Latin-1 without a charset': Buffer.from(
    usual('NOTE:Grüße', 'ORG:Süd;Öl', 'TEL;X-NÖ=ä:1').join('\r\n'),
    'latin1',
  ),
  'Latin-1 beside UTF-8': Buffer.concat([
    bytes('BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Grüße\r\nN:Grüße;;;;\r\nNOTE:'),
    Buffer.from('Grüße', 'latin1'),
    bytes('\r\nEND:VCARD\r\n'),
  ]),
  'control characters': bytes(
    usual('NOTE:a\0b\x07c', 'TITLE:a\tb', 'TEL;TYPE=\x01HOME:1\x7f', 'ORG:a\rb;c').join('\r\n'),
  ),
  'white space of Unicode': lines(
    '\r\n',
    ...usual(`NOTE:${'\u00a0\u3000'.repeat(30)}x`, 'TITLE:\u2003x\u2028y'),
  ),
  'nested cards': lines(
    '\r\n',
    ...usual(
      'AGENT:',
      'BEGIN:VCARD',
      'VERSION:2.1',
      'N:Inner',
      'TEL:9',
      'EMAIL:in@example.org',
      'END:VCARD',
      'TEL:1',
    ),
  ),
  'an inner component without END': lines('\r\n', ...usual('BEGIN:X-BOX', 'TEL:9', 'NOTE:in the box')),
  'an END that ends nothing': lines('\r\n', ...usual('END:X-BOX', 'TEL:1')),
  'two cards': Buffer.concat([lines('\r\n', ...usual('TEL:1')), lines('\r\n', ...usual('TEL:2'))]),
  'text around the card': lines('\r\n', 'X-BEFORE:1', 'nonsense', ...usual('TEL:1'), 'X-AFTER:1', 'more'),
  'one group for several lines': lines(
    '\r\n',
    ...usual('g.EMAIL:a@b.example', 'g.TEL:1', 'G.X-ABLabel:_$!<Work>!$_'),
  ),
  'a label without a line': lines(
    '\r\n',
    ...usual('item1.X-ABLabel:_$!<Home>!$_', 'item2.TEL:1', 'item2.X-ABLabel:_$!<Pager>!$_'),
  ),
  'two labels of one line': lines(
    '\r\n',
    ...usual('i.TEL;TYPE=CELL:1', 'i.X-ABLabel:_$!<Main>!$_', 'i.X-ABLabel:Boat'),
  ),
  'equal addresses': lines(
    '\r\n',
    ...usual('EMAIL;TYPE=HOME:a@b.example', 'EMAIL;TYPE=WORK:a@b.example', 'EMAIL:A@B.example'),
  ),
  'quoted-printable in 3.0': lines(
    '\r\n',
    ...usual('NOTE;ENCODING=QUOTED-PRINTABLE:=C3=A4=', '=0D=0Ab', 'TITLE;QUOTED-PRINTABLE:=C3=B6'),
  ),
  'quoted-printable that breaks off': bytes(
    'BEGIN:VCARD\r\nVERSION:2.1\r\nN:x\r\nFN:x\r\nNOTE;ENCODING=QUOTED-PRINTABLE:a=\r\nEND:VCARD\r\n',
  ),
  'charsets of vCard 2.1': Buffer.concat([
    bytes('BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=ISO-8859-1:'),
    Buffer.from('Grüße;Öl', 'latin1'),
    bytes(
      '\r\nFN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:=D6l Gr=FC=DFe\r\nTITLE;CHARSET=SHIFT_JIS;ENCODING=QUOTED-PRINTABLE:=93=FA=96{\r\nEND:VCARD\r\n',
    ),
  ]),
  'an old phone': lines(
    '\n',
    'BEGIN:VCARD',
    'VERSION:2.1',
    'N:Nokia;;;;',
    'TEL;CELL:+358 1',
    'TEL;PREF;VOICE:+358 2',
    'X-CLASS:private',
    'PHOTO;BASE64;JPEG:',
    ' /9j/4AAQSkZJRgABAQ==',
    '',
    'END:VCARD',
  ),
  'a birthday in words': lines(
    '\r\n',
    'BEGIN:VCARD',
    'VERSION:4.0',
    'FN:x',
    'BDAY;VALUE=text:circa 1800',
    'END:VCARD',
  ),
  'a birthday with a month only': lines(
    '\r\n',
    'BEGIN:VCARD',
    'VERSION:4.0',
    'FN:x',
    'BDAY;CALSCALE=gregorian:1985-04',
    'END:VCARD',
  ),
  'a very long line': lines('\r\n', ...usual(`NOTE:${'x'.repeat(20_000)}`, `X-LONG:${'y'.repeat(20_000)}`)),
  'many lines of one sort': lines(
    '\r\n',
    ...usual(...Array.from({ length: 150 }, (_, index) => `TEL;TYPE=HOME:${index}`)),
  ),
  'a group of version 4': card(`
    BEGIN:VCARD
    VERSION:4.0
    KIND:group
    FN:Group
    MEMBER:urn:uuid:1
    END:VCARD`),
}
