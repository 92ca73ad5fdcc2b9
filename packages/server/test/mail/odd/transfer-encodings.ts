import { base64Lines } from '../mime.ts'
import { mail, multi, type OddTable } from './odd-message.ts'

function encoded(encoding: string, body: string | Buffer, type = 'text/plain; charset=utf-8') {
  return mail(`Content-Type: ${type}\nContent-Transfer-Encoding: ${encoding}`, body)
}

const PDF = 'Content-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf'

function file(encoding: string, content: string) {
  return multi('mixed', ['\nSee the file.', `${PDF}\nContent-Transfer-Encoding: ${encoding}\n\n${content}`])
}

const HELLO = 'SGVsbG8sIHdvcmxkIQ=='

const BASE64: OddTable = {
  'base64 without line ends': { raw: encoded('base64', HELLO), text: 'Hello, world!' },
  'base64 in lines of one': { raw: encoded('base64', [...HELLO].join('\n')), text: 'Hello, world!' },
  'base64 in lines of 1,000': {
    raw: encoded(
      'base64',
      Buffer.from('x'.repeat(3000))
        .toString('base64')
        .replaceAll(/.{1000}/g, '$&\n'),
    ),
    text: 'x'.repeat(3000),
  },
  'base64 without padding': {
    raw: encoded('base64', HELLO.slice(0, -2)),
    text: 'Hello, world!',
  },
  'base64 with too much padding': { raw: encoded('base64', `${HELLO}====`), text: 'Hello, world!' },
  'base64 with a footer of a list behind it': {
    raw: encoded('base64', `${HELLO}\n\n-- \nA list, its footer\n`),
    text: 'Hello, world!',
  },
  'base64 with blanks and signs within': {
    raw: encoded('base64', 'SGVs bG8s\t*IHdv!!cmxkIQ=='),
    text: 'Hello, world!',
  },
  'base64 of two pieces one after another': {
    raw: encoded('base64', 'SGVsbG8=\nd29ybGQ=\n'),
    text: 'Hello',
  },
  'base64 cut within four': {
    raw: encoded('base64', 'SGVsbG8sIHdvcm'),
    text: 'Hello, wor',
  },
  'base64 of the alphabet for addresses': {
    raw: file('base64', '-_-_'),
    attachments: ['2 application/pdf 0 a.pdf'],
  },
  'base64 of nothing': { raw: encoded('base64', ''), text: '' },
  'base64 of HTML': {
    raw: encoded('base64', base64Lines(Buffer.from('<b>ü</b>')), 'text/html; charset=utf-8'),
    html: '<b>ü</b>',
  },
  'base64 that says it in capitals and with a comment': {
    raw: encoded('BASE64 (I promise)', HELLO),
    text: 'Hello, world!',
    unlike: { python: ['text'], why: 'Python takes the comment for a part of the name' },
  },
  'base64 between quotes': {
    raw: encoded('"base64"', HELLO),
    text: 'Hello, world!',
    unlike: { python: ['text'], why: 'Python takes the quotes for a part of the name' },
  },
  'a file of base64 with a line too short': {
    raw: file('base64', 'AAEC\nAwQ\nBQYH'),
    attachments: ['2 application/pdf 8 a.pdf'],
  },
}

const QUOTED: OddTable = {
  'quoted-printable with soft ends': {
    raw: encoded('quoted-printable', 'one =\ntwo=\n\nthree'),
    text: 'one two\nthree',
  },
  'quoted-printable in small letters': { raw: encoded('quoted-printable', 'Gr=c3=bc=c3=9fe'), text: 'Grüße' },
  'quoted-printable with blanks before the end of a line': {
    raw: encoded('quoted-printable', 'one\ntwo= \nthree'),
    text: 'one\ntwothree',
    unlike: { python: ['text'], why: 'RFC 2045 section 6.7, rule 3: such blanks are of the transport' },
  },
  'quoted-printable with blanks at the ends of lines': {
    raw: encoded('quoted-printable', 'one \ntwo\t \nthree=20\nfour =\nfive=09 \n \nsix  '),
    text: 'one\ntwo\nthree \nfour five\t\n\nsix',
    unlike: { python: ['text'], why: 'RFC 2045 section 6.7, rule 3: such blanks are of the transport' },
  },
  'quoted-printable with more blanks than a line may have': {
    raw: encoded('quoted-printable', `one${' '.repeat(77)}\ntwo${' '.repeat(76)}\nthree`),
    text: `one${' '.repeat(77)}\ntwo\nthree`,
    unlike: { python: ['text'], why: 'RFC 2045 section 6.7, rule 3: such blanks are of the transport' },
  },
  'quoted-printable of invalid numbers': {
    raw: encoded('quoted-printable', 'a=ZZ b=4 c='),
    text: 'a=ZZ b=4 c',
  },
  'quoted-printable with 8-bit bytes': { raw: encoded('quoted-printable', 'Grü=C3=9Fe'), text: 'Grüße' },
  'quoted-printable in one line of 5,000': {
    raw: encoded('quoted-printable', '=41'.repeat(1700)),
    text: 'A'.repeat(1700),
  },
  'quoted-printable with escaped line ends': {
    raw: encoded('quoted-printable', 'one=0D=0Atwo=0Athree'),
    text: 'one\ntwo\nthree',
  },
  'a file of quoted-printable': {
    raw: file('quoted-printable', '=25PDF=00=FF'),
    attachments: ['2 application/pdf 6 a.pdf'],
  },
  'quoted-printable whose last line end is soft': {
    raw: file('quoted-printable', 'abc='),
    attachments: ['2 application/pdf 3 a.pdf'],
  },
}

function uuLine(text: string) {
  const bytes = Buffer.from(text)
  const digits = bytes
    .toString('hex')
    .match(/.{1,6}/g)!
    .map(hex => Number.parseInt(hex.padEnd(6, '0'), 16))
  const signs = digits.flatMap(digit => [18, 12, 6, 0].map(shift => (digit >> shift) & 63 || 64))
  return String.fromCharCode(bytes.length + 32, ...signs.map(sign => sign + 32))
}

const OTHER: OddTable = {
  '7bit with 8-bit bytes': { raw: encoded('7bit', 'Grüße\n'), text: 'Grüße' },
  '8bit': { raw: encoded('8bit', 'Grüße\n'), text: 'Grüße' },
  binary: { raw: file('binary', 'abc\ndef'), attachments: ['2 application/pdf 8 a.pdf'] },
  'an unknown transfer encoding': { raw: encoded('x-rot13', 'Uryyb\n'), text: 'Uryyb' },
  'an empty transfer encoding': { raw: encoded('', 'Hello\n'), text: 'Hello' },
  'uuencode by its name': {
    raw: file('x-uuencode', 'begin 644 a.pdf\n#0V%T\n`\nend'),
    attachments: ['2 application/pdf 3 a.pdf'],
  },
  'uuencode by its short name, of two lines': {
    raw: file('x-uue', `\nbegin 644 a.pdf\n${uuLine('x'.repeat(45))}\n${uuLine('yz')}\n\`\nend\n`),
    attachments: ['2 application/pdf 47 a.pdf'],
  },
  'uuencode of text': {
    raw: encoded('uuencode', `begin 644 a.txt\n${uuLine('Grüße, Welt\r\n')}\n\`\nend\n`),
    text: 'Grüße, Welt',
  },
  'uuencode that lost its blanks at the ends of lines': {
    raw: file('uuencode', 'begin 644 a.pdf\n$    \n#\n \nend'),
    attachments: ['2 application/pdf 7 a.pdf'],
  },
  'uuencode without its first line': {
    raw: file('x-uuencode', '#0V%T\n`\nend'),
    attachments: ['2 application/pdf 13 a.pdf'],
  },
  'uuencode with text behind it': {
    raw: file('x-uuencode', 'begin 644 a.pdf\n#0V%T\n`\nend\n#0V%T\n'),
    attachments: ['2 application/pdf 3 a.pdf'],
  },
  'uuencode within text': {
    raw: encoded('7bit', 'See below.\n\nbegin 644 cat.txt\n#0V%T\n`\nend\n'),
    text: 'See below.\n\nbegin 644 cat.txt\n#0V%T\n`\nend',
  },
  'yEnc within text': {
    raw: encoded(
      '8bit',
      '=ybegin line=128 size=3 name=a.bin\nabc\n=yend size=3\n',
      'text/plain; charset=us-ascii',
    ),
    text: '=ybegin line=128 size=3 name=a.bin\nabc\n=yend size=3',
  },
  'binhex by its name': {
    raw: file('binhex', '(This file must be converted)'),
    attachments: ['2 application/pdf 29 a.pdf'],
  },
  'two transfer encodings': {
    raw: mail(
      'Content-Type: text/plain\nContent-Transfer-Encoding: base64\nContent-Transfer-Encoding: 7bit',
      HELLO,
    ),
    text: 'Hello, world!',
  },
  'a transfer encoding of a multipart': {
    raw: mail(
      'Content-Type: multipart/mixed; boundary=cut\nContent-Transfer-Encoding: base64',
      '--cut\n\nHello\n--cut--\n',
    ),
    text: 'Hello',
  },
}

export const ODD_TRANSFER_ENCODINGS: OddTable = { ...BASE64, ...QUOTED, ...OTHER }
