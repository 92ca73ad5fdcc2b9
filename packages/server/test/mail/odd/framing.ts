import { mail, multi, crlf, type OddTable } from './odd-message.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')

const EMPTINESS: OddTable = {
  'nothing at all': { raw: Buffer.alloc(0), text: '', subject: null, from: null, isUnservable: true },
  'a line end alone': { raw: bytes('\r\n'), text: '', subject: null },
  'one letter': {
    raw: bytes('x'),
    text: '',
    subject: null,
    unlike: { python: ['text'], why: 'Python begins the body where the header breaks' },
  },
  'a header alone': { raw: crlf('Subject: alone\nFrom: a@a.test'), text: '', subject: 'alone' },
  'a header with its line end alone': {
    raw: crlf('Subject: ended\nFrom: a@a.test\n'),
    text: '',
    subject: 'ended',
  },
  'a header and an empty line': {
    raw: crlf('Subject: empty\nFrom: a@a.test\n\n'),
    text: '',
    subject: 'empty',
  },
  'a body alone': { raw: crlf('\nNothing but text.\n'), text: 'Nothing but text.', subject: null },
  'an empty body of a multipart': {
    raw: mail('Content-Type: multipart/mixed; boundary=cut', ''),
    text: null,
    attachments: [],
    unlike: { python: ['attachments'], why: 'A message without parts has no attachments to show' },
  },
  'an empty body of HTML': { raw: mail('Content-Type: text/html', ''), html: '' },
  'no Message-ID': { raw: crlf('From: a@a.test\nSubject: no id\n\nHello.\n'), text: 'Hello.' },
}

const LINES: OddTable = {
  'line feeds alone': {
    raw: bytes('Subject: bare\nFrom: a@a.test\n\nOne.\nTwo.\n'),
    text: 'One.\nTwo.',
    subject: 'bare',
  },
  'line feeds in the body alone': {
    raw: mail('X-A: b', bytes('One.\nTwo.\r\nThree.\n')),
    text: 'One.\nTwo.\nThree.',
  },
  'carriage returns alone': {
    raw: bytes('Subject: mac\rFrom: a@a.test\r\rOne.\rTwo.\r'),
    text: '',
    subject: 'mac From: a@a.test One. Two.',
    from: null,
    unlike: {
      python: ['text', 'subject', 'from'],
      why: 'RFC 5322 section 2.3: a carriage return alone ends no line',
    },
  },
  'carriage returns in the body': {
    raw: mail('X-A: b', bytes('One.\rTwo.\r\r\nThree.\r\n')),
    text: 'One.\rTwo.\r\nThree.',
  },
  'a carriage return too many in the header': {
    raw: bytes('Subject: twice\r\r\nFrom: a@a.test\r\n\r\nHello.\r\n'),
    text: 'Hello.',
    from: 'a@a.test',
    subject: 'twice',
    unlike: { python: ['text', 'from'], why: 'Python takes the carriage return for an empty line' },
  },
  'NUL in the body': {
    raw: mail('X-A: b', bytes('Be\0fore\r\n')),
    text: 'Before',
    unlike: { python: ['text'], why: 'NUL is no text, and PostgreSQL refuses it' },
  },
  'NUL in a subject': {
    raw: mail(bytes('Subject: a\0b')),
    subject: 'a b',
    unlike: { python: ['subject'], why: 'A subject is one line' },
  },
  'a line of 100,000 characters': { raw: mail('X-A: b', 'x'.repeat(100_000)), text: 'x'.repeat(100_000) },
  'a header line of 20,000 characters': {
    raw: mail(`X-Long: ${'x'.repeat(20_000)}\nSubject: behind it`),
    subject: 'behind it',
  },
  'no line end at the end': { raw: mail('X-A: b', 'The end'), text: 'The end' },
  'a dot alone': { raw: mail('X-A: b', 'One.\n.\nTwo.\n'), text: 'One.\n.\nTwo.' },
  'lines that begin with From': {
    raw: mail('X-A: b', 'From here on.\n>From there.\n'),
    text: 'From here on.\n>From there.',
  },
}

const HEADERS: OddTable = {
  'the From line of a mailbox file': {
    raw: crlf('From ada@a.test Thu Jan  1 10:00:00 2026\nSubject: mbox\nFrom: a@a.test\n\nHello.\n'),
    text: 'Hello.',
    subject: 'mbox',
  },
  'a quoted From line': {
    raw: crlf('>From ada@a.test Thu Jan  1 10:00:00 2026\nSubject: mbox\nFrom: a@a.test\n\nHello.\n'),
    text: 'Hello.',
    subject: 'mbox',
    from: 'a@a.test',
    unlike: {
      python: ['text', 'subject', 'from'],
      why: 'Python ends the header at a line that is not a field',
    },
  },
  'a line that is not a field': {
    raw: crlf('From: a@a.test\nthis is no field\nSubject: after it\n\nHello.\n'),
    text: 'Hello.',
    subject: 'after it',
    unlike: { python: ['text', 'subject'], why: 'Python ends the header at a line that is not a field' },
  },
  'a header that begins folded': {
    raw: crlf(' folded: nothing\nSubject: after it\n\nHello.\n'),
    text: 'Hello.',
    subject: 'after it',
  },
  'a field without a name': {
    raw: crlf(': nameless\nSubject: after it\n\nHello.\n'),
    text: 'Hello.',
    subject: 'after it',
  },
  'an empty line of blanks': {
    raw: crlf('Subject: one\nFrom: a@a.test\n \nX-More: x\n\nHello.\n'),
    text: 'Hello.',
    subject: 'one',
  },
  '500 fields': {
    raw: mail(`${Array.from({ length: 500 }, (_, at) => `X-F${at}: x`).join('\n')}\nSubject: last`),
    subject: 'last',
  },
  'a field of UTF-8 in its name': {
    raw: mail('X-Grüße: x\nSubject: after it'),
    subject: 'after it',
    unlike: { python: ['text', 'subject'], why: 'Python ends the header at a line that is not a field' },
    text: 'Hello.',
  },
  'a header of a part that does not end': {
    raw: multi('mixed', ['Content-Type: text/plain\nX-A: b']),
    text: '',
  },
  'a body over 300 KB before a file': {
    raw: multi('mixed', [
      `\n${'A line of words.\n'.repeat(20_000)}`,
      'Content-Type: application/pdf; name=a.pdf\n\n%PDF',
    ]),
    attachments: ['2 application/pdf 4 a.pdf'],
  },
}

export const ODD_FRAMING: OddTable = { ...EMPTINESS, ...LINES, ...HEADERS }
