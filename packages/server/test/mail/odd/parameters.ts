import { cut, type Fact, mail, multi, type OddMessage, type OddTable } from './odd-message.ts'

/** A file of four bytes whose disposition has these parameters. */
function named(parameters: string, type = 'application/pdf') {
  return multi('mixed', [
    '\nHello.',
    `Content-Type: ${type}\nContent-Disposition: attachment${parameters}\n\n%PDF`,
  ])
}

const pdf = (name: string) => ({ attachments: [`2 application/pdf 4${name && ` ${name}`}`] })

const PLAIN_NAMES: OddTable = {
  'a file without a name': { raw: named(''), ...pdf('') },
  'a file name with blanks in quotes': { raw: named('; filename="my file.pdf"'), ...pdf('my file.pdf') },
  'a file name with blanks without quotes': { raw: named('; filename=my file.pdf'), ...pdf('my file.pdf') },
  'a file name that looks like a parameter': {
    raw: named('; filename=my a=b file.pdf'),
    ...pdf('my a=b file.pdf'),
  },
  'a file name whose semicolon is missing': {
    raw: named('\n filename="my.pdf"'),
    ...pdf('my.pdf'),
    unlike: { python: ['attachments'], why: 'The intention is obvious' },
  },
  'a file name with escaped quotes': { raw: named('; filename="a \\"b\\".pdf"'), ...pdf('a "b".pdf') },
  'a file name with backslashes': {
    raw: named('; filename="C:\\docs\\new.pdf"'),
    ...pdf('C:\\docs\\new.pdf'),
  },
  'a file name with parent folders': {
    raw: named('; filename="../../etc/passwd"'),
    ...pdf('../../etc/passwd'),
  },
  'a file name with a semicolon': { raw: named('; filename="a;b.pdf"; size=4'), ...pdf('a;b.pdf') },
  'a file name of raw UTF-8': {
    raw: named('; filename="Grüße.pdf"'),
    ...pdf('Grüße.pdf'),
    unlike: { python: ['attachments'], why: 'Python does not read what is neither encoded nor ASCII' },
  },
  'a file name of encoded words': {
    raw: named('; filename="=?utf-8?B?R3LDvMOfZS5wZGY=?="'),
    ...pdf('Grüße.pdf'),
    unlike: { python: ['attachments'], why: 'RFC 2047 section 5 forbids it, and most senders do it' },
  },
  'a file name of encoded words without quotes': {
    raw: named('; filename==?utf-8?B?R3LDvMOfZS5wZGY=?='),
    ...pdf('Grüße.pdf'),
    unlike: { python: ['attachments'], why: 'RFC 2047 section 5 forbids it, and most senders do it' },
  },
  'a file name of encoded words over lines': {
    raw: named('; filename="=?utf-8?Q?Gr=C3=BC?=\n =?utf-8?Q?=C3=9Fe.pdf?="'),
    ...pdf('Grüße.pdf'),
    unlike: { python: ['attachments'], why: 'RFC 2047 section 5 forbids it, and most senders do it' },
  },
  'a file name of neighbouring words of ISO-2022-JP': {
    raw: named('; filename="=?iso-2022-jp?B?GyRCRnwbKEI=?= =?iso-2022-jp?B?GyRCS1wbKEIucGRm?="'),
    ...pdf('日本.pdf'),
    unlike: { python: ['attachments'], why: 'RFC 2047 section 5 forbids it, and most senders do it' },
  },
  'a file name in the type alone': { raw: named('', 'application/pdf; name="t.pdf"'), ...pdf('t.pdf') },
  'two file names': { raw: named('; filename=d.pdf', 'application/pdf; name="t.pdf"'), ...pdf('d.pdf') },
  'an empty file name': {
    raw: named('; filename=""'),
    ...pdf(''),
  },
  'a file name of control characters': {
    raw: named('; filename="a\tb\x02.pdf"'),
    ...pdf('a b .pdf'),
    unlike: { python: ['attachments'], why: 'A name is one line' },
  },
  'a file name of 2,000 characters': {
    raw: named(`; filename="${'n'.repeat(2000)}.pdf"`),
    ...pdf('n'.repeat(500)),
    unlike: { python: ['attachments'], why: 'Names are bounded' },
  },
}

const EXTENDED_NAMES: OddTable = {
  'a file name by RFC 2231': { raw: named("; filename*=utf-8''Gr%C3%BC%C3%9Fe.pdf"), ...pdf('Grüße.pdf') },
  'a file name by RFC 2231 in another charset': {
    raw: named("; filename*=iso-8859-1'de'Gr%FC%DFe.pdf"),
    ...pdf('Grüße.pdf'),
  },
  'a file name in pieces': { raw: named('; filename*0="one "; filename*1="two.pdf"'), ...pdf('one two.pdf') },
  'a file name in encoded pieces': {
    raw: named("; filename*0*=utf-8''Gr%C3%BC;\n filename*1*=%C3%9Fe.pdf"),
    ...pdf('Grüße.pdf'),
  },
  'a file name in pieces, encoded and not': {
    raw: named('; filename*0*=utf-8\'\'Gr%C3%BC; filename*1="50%25 off.pdf"'),
    ...pdf('Grü50%25 off.pdf'),
  },
  'a file name in pieces that come in any order': {
    raw: named('; filename*1=b; filename*0=a; filename*2=.pdf'),
    ...pdf('ab.pdf'),
  },
  'a file name whose second piece is missing': {
    raw: named('; filename*0=a; filename*2=.pdf'),
    ...pdf('a'),
    unlike: { python: ['attachments'], why: 'Text after a gap is not part of the name' },
  },
  'a character cut between two pieces': {
    raw: named("; filename*0*=utf-8''%E2%82; filename*1*=%AC.pdf"),
    ...pdf('€.pdf'),
  },
  'a file name both ways': {
    raw: named('; filename="plain.pdf"; filename*=utf-8\'\'b%C3%B6se.pdf'),
    ...pdf('böse.pdf'),
    unlike: { python: ['attachments'], why: 'RFC 6266 section 4.3: the extended one counts' },
  },
  'a file name by RFC 2231 without a charset': { raw: named("; filename*=''a%20b.pdf"), ...pdf('a b.pdf') },
  'a file name by RFC 2231 without marks': {
    raw: named('; filename*=a%20b.pdf'),
    ...pdf('a%20b.pdf'),
    unlike: { python: ['attachments'], why: 'Without its marks it is not encoded' },
  },
  'a file name by RFC 2231 with broken escapes': {
    raw: named("; filename*=utf-8''a%2.pdf"),
    ...pdf('a%2.pdf'),
  },
  'a file name by RFC 2231 in quotes': { raw: named('; filename*="utf-8\'\'a%20b.pdf"'), ...pdf('a b.pdf') },
}

const typed = (type: string, more = '') => mail(`Content-Type: ${type}${more}`)
const SHOWN = { text: 'Hello.', attachments: [] as string[] }
const namedText = (...python: Fact[]): OddMessage['unlike'] => ({
  python,
  why: 'RFC 8621 section 4.1.4: a name alone makes no attachment of the first text, nor of an alternative',
})
const AS_FILE = (type: string) => ({ text: null, attachments: [`1 ${type} 8`] })

const TYPES: OddTable = {
  'no type': { raw: mail(''), ...SHOWN },
  'an empty type': { raw: typed(''), ...SHOWN },
  'a type without a subtype': { raw: typed('text'), ...SHOWN },
  'a type with a comment': {
    raw: typed('text/plain (plain text)'),
    ...SHOWN,
    unlike: { python: ['text', 'attachments'], why: 'RFC 2045 section 5.1 allows comments' },
  },
  'a type without its semicolon': {
    raw: typed('text/plain charset=utf-8'),
    ...SHOWN,
    unlike: { python: ['text', 'attachments'], why: 'The first value is the type' },
  },
  'a parameter in place of the type': { raw: typed('charset=utf-8'), ...SHOWN },
  'a quoted parameter with a slash in place of the type': {
    raw: typed('charset = "utf-8"; x="a/b"; format=flowed'),
    ...SHOWN,
  },
  'a file name in place of the disposition': {
    raw: multi('mixed', [
      '\nHello.',
      'Content-Type: application/pdf\nContent-Disposition: filename="a/b.pdf"\n\n%PDF',
    ]),
    ...pdf('a/b.pdf'),
  },
  'a type with semicolons too many': { raw: typed('text/plain;;; charset=utf-8;'), ...SHOWN },
  'a type of nonsense': {
    raw: typed('nonsense'),
    ...AS_FILE('application/octet-stream'),
    unlike: {
      python: ['text', 'attachments'],
      dovecot: true,
      why: 'RFC 2045 section 5.2 would read it as text; what names another type is none',
    },
  },
  'a type of three words': {
    raw: typed('text/plain/odd'),
    ...AS_FILE('application/octet-stream'),
    unlike: { python: ['text', 'attachments'], dovecot: true, why: 'It names no type' },
  },
  'a type in capitals': { raw: typed('TEXT/PLAIN; CHARSET=UTF-8'), ...SHOWN },
  'a type with blanks': { raw: typed(' text/plain ; charset = utf-8'), ...SHOWN },
  'two types': {
    raw: typed('text/plain', '\nContent-Type: text/html'),
    ...SHOWN,
  },
  'enriched text': { raw: typed('text/enriched'), ...AS_FILE('text/enriched') },
  'rich text': { raw: typed('text/rtf'), ...AS_FILE('text/rtf') },
  'text that flows': {
    raw: mail('Content-Type: text/plain; format=flowed; delsp=yes', 'A long \nline.\n'),
    text: 'A long \nline.',
  },
  'text of markdown': { raw: typed('text/markdown'), ...AS_FILE('text/markdown') },
  'an image alone': { raw: typed('image/png'), ...AS_FILE('image/png') },
  'text that is an attachment': {
    raw: mail('Content-Type: text/plain\nContent-Disposition: attachment; filename=a.txt'),
    text: null,
    attachments: ['1 text/plain 8 a.txt'],
  },
  'text with a name': {
    raw: mail('Content-Type: text/plain; name=a.txt'),
    ...SHOWN,
    unlike: namedText('text', 'attachments'),
  },
  'HTML with a name': {
    raw: mail('Content-Type: text/html; name=a.html\nContent-Disposition: inline; filename=a.html'),
    text: null,
    html: 'Hello.',
    attachments: [],
    hasAttachments: false,
    unlike: namedText('html', 'attachments'),
  },
  'two texts with names': {
    raw: multi('mixed', [
      'Content-Type: text/plain; name=a.txt\n\nOne.',
      'Content-Type: text/plain; name=b.txt\n\nTwo.',
    ]),
    text: 'One.',
    attachments: ['2 text/plain 4 b.txt'],
    hasAttachments: true,
    unlike: namedText('text', 'attachments'),
  },
  'a text with a name behind one without': {
    raw: multi('mixed', ['\nOne.', 'Content-Type: text/html; name=b.html\n\nTwo.']),
    text: 'One.',
    html: null,
    attachments: ['2 text/html 4 b.html'],
  },
  'a text with a name behind a file': {
    raw: multi('mixed', [
      'Content-Type: application/pdf; name=a.pdf\n\n%PDF',
      'Content-Type: text/plain; name=b.txt\n\nTwo.',
    ]),
    text: 'Two.',
    attachments: ['1 application/pdf 4 a.pdf'],
    unlike: namedText('text', 'attachments'),
  },
  'alternatives with names': {
    raw: multi('alternative', [
      'Content-Type: text/plain; name=a.txt\n\nOne.',
      'Content-Type: text/html; name=a.html\n\n<p>One.',
    ]),
    text: 'One.',
    html: '<p>One.',
    attachments: [],
    hasAttachments: false,
    unlike: namedText('text', 'html', 'attachments'),
  },
  'an alternative with a name within its related parts': {
    raw: multi('alternative', [
      '\nOne.',
      `Content-Type: multipart/related; boundary=rel\n\n${cut(['Content-Type: text/html; name=a.html\n\n<p>One.', 'Content-Type: text/html; name=b.html\n\nTwo.'], 'rel').trimEnd()}`,
    ]),
    text: 'One.',
    html: '<p>One.',
    attachments: ['2.2 text/html 4 b.html'],
    unlike: namedText('html', 'attachments'),
  },
  'an alternative that is an attachment': {
    raw: multi('alternative', [
      '\nOne.',
      'Content-Type: text/html\nContent-Disposition: attachment\n\n<p>One.',
    ]),
    text: 'One.',
    html: null,
    attachments: ['2 text/html 7'],
    hasAttachments: true,
  },
  'text that is inline': { raw: mail('Content-Type: text/plain\nContent-Disposition: inline'), ...SHOWN },
  'a disposition of nonsense': {
    raw: mail('Content-Type: text/plain\nContent-Disposition: nonsense'),
    ...SHOWN,
  },
  'an image that is inline': {
    raw: multi('mixed', [
      '\nHello.',
      'Content-Type: image/png\nContent-Disposition: inline; filename=a.png\n\nPNG',
    ]),
    attachments: ['2 image/png 3 inline a.png'],
  },
  'a content id without brackets': {
    raw: multi('related', [
      'Content-Type: text/html\n\n<p>',
      'Content-Type: image/png\nContent-ID: a@a\n\nPNG',
    ]),
    attachments: ['2 image/png 3 inline <a@a>'],
  },
}

export const ODD_PARAMETERS: OddTable = { ...PLAIN_NAMES, ...EXTENDED_NAMES, ...TYPES }
