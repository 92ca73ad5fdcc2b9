import { cut, mail, multi, type OddTable } from './odd-message.ts'

const FILE = 'Content-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n\n%PDF'

function mixed(boundary: string, body: string) {
  return mail(`Content-Type: multipart/mixed; boundary=${boundary}`, body)
}

const TWO = { text: 'One.\nTwo.' }

/** Correct and broken delimiters. */
const DELIMITERS: OddTable = {
  'no closing delimiter': { raw: mixed('cut', '--cut\n\nOne.\n--cut\n\nTwo.\n'), ...TWO },
  'a closing delimiter at the very end': {
    raw: mixed('cut', '--cut\n\nOne.\n--cut\n\nTwo.\n--cut--'),
    ...TWO,
  },
  'blanks behind delimiters': { raw: mixed('cut', '--cut \t\n\nOne.\n--cut  \n\nTwo.\n--cut-- \n'), ...TWO },
  'a delimiter right after the header of a part': {
    raw: mixed('cut', '--cut\nContent-Type: text/plain\n--cut\n\nTwo.\n--cut--\n'),
    text: '\nTwo.',
  },
  'parts after the closing delimiter': {
    raw: mixed('cut', '--cut\n\nOne.\n--cut--\n--cut\n\nTwo.\n'),
    text: 'One.',
  },
  'text before and behind': {
    raw: mixed('cut', 'Before.\n--cut\n\nOne.\n--cut\n\nTwo.\n--cut--\nBehind.\n'),
    ...TWO,
  },
  'a boundary that never occurs': {
    raw: mixed('cut', 'Nobody can tell what this is.\n'),
    text: null,
    attachments: [],
    unlike: {
      python: ['attachments'],
      why: 'Text before the first delimiter is no part',
    },
  },
  'no boundary at all': {
    raw: mail('Content-Type: multipart/mixed', 'All there is.\n'),
    text: 'All there is.',
    attachments: [],
    unlike: { python: ['text', 'attachments'], why: 'The text is of more use than nothing' },
  },
  'an empty boundary': {
    raw: mail('Content-Type: multipart/mixed; boundary=""', 'All there is.\n'),
    text: 'All there is.',
    attachments: [],
    unlike: { python: ['text', 'attachments'], why: 'The text is of more use than nothing' },
  },
  'a delimiter in the middle of a line': {
    raw: mixed('cut', '--cut\n\nOne --cut\n x--cut\n--cut--\n'),
    text: 'One --cut\n x--cut',
  },
  'dashes that are not a delimiter': {
    raw: mixed('cut', '--cut\n\n-- \nAda\n--cu\n---cut\n--cut--\n'),
    text: '-- \nAda\n--cu\n---cut',
  },
  'empty parts': {
    raw: mixed('cut', '--cut\n--cut\n\n--cut\n\nTwo.\n--cut--\n'),
    text: '\n\nTwo.',
    unlike: { python: ['text'], why: 'Python takes the second delimiter for content' },
  },
  'a delimiter with one dash too many': {
    raw: mixed('cut', '--cut\n\nOne.\n--cut-\nTwo.\n--cut--\n'),
    text: 'One.\n--cut-\nTwo.',
  },
  'a delimiter with text behind': {
    raw: mixed('cut', '--cut\n\nOne.\n--cutting edge\n--cut--\n'),
    text: 'One.\n--cutting edge',
  },
  'delimiters ended by line feeds alone': {
    raw: mail(
      'Content-Type: multipart/mixed; boundary=cut',
      Buffer.from('--cut\n\nOne.\n--cut\r\n\r\nTwo.\n--cut--\n'),
    ),
    ...TWO,
  },
}

/** Boundaries as senders write them. */
const NAMES: OddTable = {
  'a boundary of 70 characters': {
    raw: mixed('x'.repeat(70), cut(['\nOne.', '\nTwo.'], 'x'.repeat(70))),
    ...TWO,
  },
  'a boundary of 200 characters': {
    raw: mixed('x'.repeat(200), cut(['\nOne.', '\nTwo.'], 'x'.repeat(200))),
    ...TWO,
  },
  'a boundary of punctuation': {
    raw: mixed(`"'()+_,-./:=?"`, cut(['\nOne.', '\nTwo.'], `'()+_,-./:=?`)),
    ...TWO,
  },
  'a boundary with a semicolon': { raw: mixed('"a;b=c"', cut(['\nOne.', '\nTwo.'], 'a;b=c')), ...TWO },
  'a boundary with blanks': { raw: mixed('"a b"', cut(['\nOne.', '\nTwo.'], 'a b')), ...TWO },
  'a boundary that ends in dashes': { raw: mixed('"cut--"', cut(['\nOne.', '\nTwo.'], 'cut--')), ...TWO },
  'a boundary of dashes': { raw: mixed('"----"', cut(['\nOne.', '\nTwo.'], '----')), ...TWO },
  'a boundary in capitals elsewhere': {
    raw: mail('Content-Type: MULTIPART/MIXED; BOUNDARY=Cut', '--Cut\n\nOne.\n--cut\n--Cut--\n'),
    text: 'One.\n--cut',
  },
  'a boundary with a comment': {
    raw: mixed('cut (as Outlook does)', cut(['\nOne.', '\nTwo.'])),
    ...TWO,
    attachments: [],
    unlike: { python: ['text', 'attachments'], why: 'RFC 2045 section 5.1 allows comments' },
  },
  'a boundary in pieces by RFC 2231': {
    raw: mail('Content-Type: multipart/mixed; boundary*0=c; boundary*1=ut', cut(['\nOne.', '\nTwo.'])),
    ...TWO,
  },
  'a boundary on a folded line': {
    raw: mail('Content-Type: multipart/mixed;\n\tboundary="cut"', cut(['\nOne.', '\nTwo.'])),
    ...TWO,
  },
  'a boundary whose semicolon is missing, on a folded line': {
    raw: mail('Content-Type: multipart/mixed\n\tboundary="cut"', cut(['\nOne.', FILE])),
    text: 'One.',
    attachments: ['2 application/pdf 4 a.pdf'],
    unlike: { python: ['text', 'attachments'], dovecot: true, why: 'The intention is obvious' },
  },
  'a boundary whose semicolon is missing behind another parameter': {
    raw: mail('Content-Type: multipart/mixed; charset=utf-8\n boundary=cut', cut(['\nOne.', FILE])),
    text: 'One.',
    attachments: ['2 application/pdf 4 a.pdf'],
    unlike: { python: ['text', 'attachments'], dovecot: true, why: 'The intention is obvious' },
  },
  'a boundary whose semicolon is missing behind a quoted parameter': {
    raw: mail(
      'Content-Type: multipart/related; type="text/html"\n boundary="cut"; x=y',
      cut(['\nOne.', FILE]),
    ),
    text: 'One.',
    attachments: ['2 application/pdf 4 a.pdf'],
    unlike: { python: ['text', 'attachments'], dovecot: true, why: 'The intention is obvious' },
  },
  'a boundary without its last quote': {
    raw: mail('Content-Type: multipart/mixed; boundary="cut', cut(['\nOne.', '\nTwo.'])),
    ...TWO,
    attachments: [],
    unlike: {
      python: ['text', 'attachments'],
      why: 'A missing quote means the end of the field',
    },
  },
  'two boundaries': {
    raw: mail('Content-Type: multipart/mixed; boundary=cut; boundary=other', cut(['\nOne.', '\nTwo.'])),
    ...TWO,
  },
}

function inner(boundary: string, parts: readonly string[]) {
  return `Content-Type: multipart/mixed; boundary=${boundary}\n\n${cut(parts, boundary).trimEnd()}`
}

/** Boundaries of nested multiparts. */
const NESTED: OddTable = {
  'an outer boundary that begins the inner one': {
    raw: multi('mixed', [inner('cutter', ['\nOne.', FILE]), '\nTwo.']),
    ...TWO,
    attachments: ['1.2 application/pdf 4 a.pdf'],
  },
  'an inner boundary that begins the outer one': {
    raw: mixed('cutter', cut([inner('cut', ['\nOne.', FILE]), '\nTwo.'], 'cutter')),
    ...TWO,
    attachments: ['1.2 application/pdf 4 a.pdf'],
  },
  'an inner boundary that is the outer one and dashes': {
    raw: multi('mixed', [inner('"cut-"', ['\nOne.']).replaceAll('--"cut-"', '--cut-'), '\nTwo.']),
    ...TWO,
  },
  'one boundary for both': {
    raw: multi('mixed', ['Content-Type: multipart/mixed; boundary=cut\n\n--cut\n\nOne.', '\nTwo.']),
    ...TWO,
    attachments: [],
    unlike: { python: ['attachments'], why: 'The innermost that is open counts' },
  },
  'an inner multipart that is not closed': {
    raw: multi('mixed', ['Content-Type: multipart/mixed; boundary=in\n\n--in\n\nOne.', FILE]),
    text: 'One.',
    attachments: ['2 application/pdf 4 a.pdf'],
  },
  'an inner multipart that is closed twice': {
    raw: multi('mixed', [`${inner('in', ['\nOne.'])}\n--in--`, FILE]),
    text: 'One.',
    attachments: ['2 application/pdf 4 a.pdf'],
  },
  'an outer multipart closed within the inner one': {
    raw: mixed(
      'cut',
      '--cut\nContent-Type: multipart/mixed; boundary=in\n\n--in\n\nOne.\n--cut--\n--in\n\nLost.\n--in--\n',
    ),
    text: 'One.',
  },
}

export const ODD_BOUNDARIES: OddTable = { ...DELIMITERS, ...NAMES, ...NESTED }
