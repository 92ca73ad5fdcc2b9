import { mail, crlf, type OddTable } from './odd-message.ts'

const latin1 = (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1')

const SUBJECTS: OddTable = {
  'a subject of raw UTF-8': {
    raw: mail('Subject: Grüße 🎉'),
    subject: 'Grüße 🎉',
    unlike: { python: ['subject'], why: 'Python does not read what is neither encoded nor ASCII' },
  },
  'a subject of raw Latin-1': {
    raw: mail(latin1('Subject: Gr\xfc\xdfe')),
    subject: 'Grüße',
    unlike: { python: ['subject'], why: 'Python gives U+FFFD for what declares nothing' },
  },
  'encoded words in two charsets': {
    raw: mail('Subject: =?utf-8?B?w7w=?= =?iso-8859-1?Q?=DF?='),
    subject: 'üß',
  },
  'encoded words that cut a character': {
    raw: mail('Subject: =?utf-8?B?4oI=?= =?utf-8?B?rA==?='),
    subject: '€',
  },
  'encoded words of ISO-2022-JP, each ended in ASCII': {
    raw: mail('Subject: =?iso-2022-jp?B?GyRCRnwbKEI=?=\n =?ISO-2022-JP?B?GyRCS1wbKEI=?='),
    subject: '日本',
  },
  'encoded words of ISO-2022-JP, cut within a run of Japanese': {
    raw: mail('Subject: =?iso-2022-jp?B?GyRCRnw=?= =?iso-2022-jp?B?S1xGfBsoQg==?='),
    subject: '日本日',
  },
  'encoded words of ISO-2022-KR': {
    raw: mail('Subject: =?iso-2022-kr?B?GyQpQw5HUQ8=?= =?iso-2022-kr?B?DjE5Dw==?='),
    subject: '한국',
  },
  'encoded words of HZ': {
    raw: mail('Subject: =?hz-gb-2312?Q?~{VP~}?= =?hz-gb-2312?Q?~{ND~}_ok?='),
    subject: '中文 ok',
  },
  'encoded words of UTF-7, each ended': {
    raw: mail('Subject: =?utf-7?Q?Gr+APw?= =?utf-7?Q?+AN8-e?='),
    subject: 'Grüße',
  },
  'encoded words that cut a character of GB18030': {
    raw: mail('Subject: =?gb18030?Q?=D6?= =?gb18030?Q?=D0=81?= =?gb18030?Q?0=898?='),
    subject: '中ß',
  },
  'encoded words that cut a character of Shift_JIS': {
    raw: mail('Subject: =?shift_jis?Q?=93=FA=96?= =?shift_jis?Q?{?='),
    subject: '日本',
  },
  'encoded words between plain ones': {
    raw: mail('Subject: Re: =?utf-8?Q?Gr=C3=BC=C3=9Fe?= from Ada'),
    subject: 'Re: Grüße from Ada',
  },
  'encoded words over folded lines': {
    raw: mail('Subject: =?utf-8?Q?one_?=\n =?utf-8?Q?two?=\n\t=?utf-8?Q?_three?='),
    subject: 'one two three',
  },
  'encoded words without a blank between': {
    raw: mail('Subject: =?utf-8?Q?one?==?utf-8?Q?two?='),
    subject: 'onetwo',
  },
  'an encoded word with a language': {
    raw: mail('Subject: =?utf-8*de?Q?Gr=C3=BC=C3=9Fe?='),
    subject: 'Grüße',
    unlike: { python: ['subject'], why: 'RFC 2231 section 5, which Python does not know' },
  },
  'an encoded word with blanks in it': { raw: mail('Subject: =?utf-8?Q?two words?='), subject: 'two words' },
  'an encoded word without an end': { raw: mail('Subject: =?utf-8?Q?never'), subject: '=?utf-8?Q?never' },
  'an encoded word of an invalid scheme': {
    raw: mail('Subject: =?utf-8?X?abc?='),
    subject: '=?utf-8?X?abc?=',
  },
  'an encoded word of an unknown charset': {
    raw: mail('Subject: =?x-none?Q?abc?='),
    subject: 'abc',
  },
  'an encoded word of broken base64': {
    raw: mail('Subject: =?utf-8?B?SGVsbG8?='),
    subject: 'Hello',
  },
  'an empty encoded word': {
    raw: mail('Subject: a =?utf-8?Q??= b'),
    subject: 'a  b',
  },
  'an encoded word with a question mark': { raw: mail('Subject: =?utf-8?Q?why=3F?='), subject: 'why?' },
  'an encoded word with line ends in it': {
    raw: mail('Subject: =?utf-8?Q?a=0D=0AX-Evil:_b?='),
    subject: 'a X-Evil: b',
    unlike: { python: ['subject'], why: 'A subject is one line' },
  },
  'an encoded word within another': {
    raw: mail(`Subject: =?utf-8?B?${Buffer.from('=?utf-8?Q?a?=').toString('base64')}?=`),
    subject: '=?utf-8?Q?a?=',
  },
  'an empty subject': {
    raw: mail('Subject:'),
    subject: null,
    unlike: { python: ['subject'], why: 'Empty is none' },
  },
  'no subject': { raw: crlf('From: a@a.test\n\nHello.\n'), subject: null },
  'two subjects': { raw: mail('Subject: first\nSubject: second'), subject: 'first' },
  'a subject of 3,000 characters': {
    raw: mail(`Subject: ${'word '.repeat(599)}end`),
    subject: `${'word '.repeat(599)}end`,
  },
  'a subject folded at odd places': {
    raw: mail('Subject: one\n two\n\tthree\n   four'),
    subject: 'one two three   four',
    unlike: { python: ['subject'], why: 'A tab is a blank' },
  },
  'a subject that begins on the second line': {
    raw: mail('Subject:\n  second line'),
    subject: 'second line',
  },
  'a subject with a line of blanks in it': {
    raw: mail('Subject: one\n \n two'),
    subject: 'one  two',
  },
  'a subject with control characters': {
    raw: mail('Subject: a\tb\x01c\x7fd'),
    subject: 'a b c d',
    unlike: { python: ['subject'], why: 'A subject is one line' },
  },
  'a blank before the colon': {
    raw: mail('Subject : blank'),
    subject: 'blank',
    text: 'Hello.',
    unlike: { python: ['subject', 'text'], why: 'RFC 5322 section 4.5 allows it in old mail' },
  },
  'names of fields in capitals': {
    raw: mail('SUBJECT: LOUD\nfrom: small@a.test'),
    subject: 'LOUD',
    from: 'small@a.test',
  },
}

const ADDRESSES: OddTable = {
  'a name in quotes with a comma': {
    raw: mail('From: "Lovelace, Ada" <ada@a.test>'),
    from: 'Lovelace, Ada <ada@a.test>',
  },
  'a name of encoded words': {
    raw: mail('From: =?utf-8?Q?J=C3=BCrgen?= <j@a.test>'),
    from: 'Jürgen <j@a.test>',
  },
  'a name of neighbouring words of ISO-2022-JP': {
    raw: mail('From: =?iso-2022-jp?B?GyRCRnwbKEI=?= =?iso-2022-jp?B?GyRCS1wbKEI=?= <n@a.test>'),
    from: '日本 <n@a.test>',
  },
  'a name of encoded words in quotes': {
    raw: mail('From: "=?utf-8?Q?J=C3=BCrgen?=" <j@a.test>'),
    from: 'Jürgen <j@a.test>',
  },
  'a comma within an encoded word': {
    raw: mail('From: =?utf-8?Q?Lovelace=2C_Ada?= <ada@a.test>'),
    from: 'Lovelace, Ada <ada@a.test>',
  },
  'a name of raw UTF-8': {
    raw: mail('From: Jürgen <j@a.test>'),
    from: 'Jürgen <j@a.test>',
    unlike: { python: ['from'], why: 'Python does not read what is neither encoded nor ASCII' },
  },
  'a name that is the address': {
    raw: mail('From: "ada@a.test" <ada@a.test>'),
    from: 'ada@a.test',
    unlike: { python: ['from'], why: 'It is no name' },
  },
  'a name as a comment': { raw: mail('From: ada@a.test (Ada)'), from: 'Ada <ada@a.test>' },
  'comments everywhere': {
    raw: mail('From: Ada (the) <ada@a.test> (first)'),
    from: 'Ada <ada@a.test>',
    unlike: { python: ['from'], why: 'A comment is no name where there is one' },
  },
  'a group': {
    raw: mail('To: Friends: a@a.test, B <b@b.test>;, c@c.test'),
    to: ['a@a.test', 'B <b@b.test>', 'c@c.test'],
  },
  'an empty group': { raw: mail('To: undisclosed-recipients:;'), to: [] },
  'a route of old': {
    raw: mail('To: <@a.test,@b.test:c@c.test>'),
    to: ['c@c.test'],
    unlike: { python: ['to'], why: 'Python takes the route for recipients' },
  },
  'a quoted local part': {
    raw: mail('To: "a b"@c.test, "x,y"@c.test'),
    to: ['"a b"@c.test', '"x,y"@c.test'],
  },
  'an address of UTF-8': {
    raw: mail('To: jürgen@bücher.test'),
    to: ['jürgen@bücher.test'],
    unlike: { python: ['to'], why: 'Python does not read what is neither encoded nor ASCII' },
  },
  'an address literal': {
    raw: mail('To: a@[192.0.2.1], b@[IPv6:2001:db8::1]'),
    to: ['a@[192.0.2.1]', 'b@[IPv6:2001:db8::1]'],
  },
  'semicolons for commas': {
    raw: mail('To: a@a.test; b@b.test'),
    to: ['a@a.test', 'b@b.test'],
  },
  'commas without anything between': { raw: mail('To: a@a.test,,, b@b.test,'), to: ['a@a.test', 'b@b.test'] },
  'two fields of recipients': { raw: mail('To: a@a.test\nTo: b@b.test'), to: ['a@a.test', 'b@b.test'] },
  'no sender but an envelope': { raw: mail('From: <>'), from: null },
  'a daemon without an address': {
    raw: mail('From: MAILER-DAEMON <>'),
    from: 'MAILER-DAEMON <>',
    unlike: { python: ['from'], why: 'Python lists no name without an address' },
  },
  'a name of three words without an address': {
    raw: mail('From: Mail Delivery System <>'),
    from: 'Mail Delivery System <>',
    unlike: { python: ['from'], why: 'Python lists no name without an address' },
  },
  'a comment beside no address': {
    raw: mail('From: <> (Mail Delivery System)'),
    from: 'Mail Delivery System <>',
    unlike: { python: ['from'], why: 'Python lists no name without an address' },
  },
  'a name without an address before an author': {
    raw: mail('From: Nobody <>, Ada <ada@a.test>'),
    from: 'Ada <ada@a.test>',
  },
  'an author without an address, and a sender': {
    raw: mail('From: Mail Delivery System <>\nSender: s@a.test'),
    from: 'Mail Delivery System <>',
    unlike: { python: ['from'], why: 'Python lists no name without an address' },
  },
  'recipients without an address': { raw: mail('To: Friends <>, root, b@b.test'), to: ['root', 'b@b.test'] },
  'a bracket that does not end': {
    raw: mail('From: Ada <ada@a.test'),
    from: 'Ada <ada@a.test>',
  },
  'brackets twice': {
    raw: mail('From: Ada <<ada@a.test>>'),
    from: 'Ada <ada@a.test>',
    unlike: { python: ['from'], why: 'The intention is obvious' },
  },
  'a sender where there is no author': {
    raw: crlf('Sender: s@a.test\nTo: b@b.test\n\nHello.\n'),
    from: 's@a.test',
    unlike: { python: ['from'], why: 'The index names the sender' },
  },
  'two authors': { raw: mail('From: a@a.test, b@b.test'), from: 'a@a.test' },
  'a name with a bracket in quotes': { raw: mail('From: "a <b> c" <d@d.test>'), from: 'a <b> c <d@d.test>' },
  'an author without a domain': { raw: mail('From: root'), from: 'root' },
  '300 recipients': {
    raw: mail(`To: ${Array.from({ length: 300 }, (_, at) => `p${at}@a.test`).join(',\n ')}`),
    to: Array.from({ length: 300 }, (_, at) => `p${at}@a.test`),
  },
}

const DATE = (value: string, date: string | null) => ({ raw: mail(`Date: ${value}`), date })
const NO_DAY = 'Python knows no such moment, or another'

const DATES: OddTable = {
  'a date without a weekday': DATE('1 Jan 2026 10:00:00 +0100', '2026-01-01T09:00:00.000Z'),
  'a date without seconds': DATE('Thu, 1 Jan 2026 10:00 +0000', '2026-01-01T10:00:00.000Z'),
  'a date of two digits': DATE('Thu, 01 Jan 26 10:00:00 GMT', '2026-01-01T10:00:00.000Z'),
  'a date of an old zone': DATE('Thu, 01 Jan 2026 10:00:00 PST', '2026-01-01T18:00:00.000Z'),
  'a date of a zone of three digits': {
    ...DATE('Thu, 01 Jan 2026 10:00:00 -600', '2026-01-01T16:00:00.000Z'),
  },
  'a date of a zone without its sign': {
    ...DATE('Thu, 01 Jan 2026 10:00:00 0530', '2026-01-01T04:30:00.000Z'),
  },
  'a date of an invalid zone': {
    ...DATE('Thu, 01 Jan 2026 10:00:00 2026', '2026-01-01T10:00:00.000Z'),
    unlike: { python: ['date'], why: NO_DAY },
  },
  'a date with comments': DATE('Thu, 01 Jan 2026 10:00:00 +0100 (CET)', '2026-01-01T09:00:00.000Z'),
  'a date of a whole hour off': DATE('Thu, 01 Jan 2026 10:00:00 +1400', '2025-12-31T20:00:00.000Z'),
  'a date in the far future': DATE('Fri, 01 Jan 2999 10:00:00 +0000', '2999-01-01T10:00:00.000Z'),
  'a date before there was mail': DATE('Thu, 01 Jan 1970 00:00:00 +0000', '1970-01-01T00:00:00.000Z'),
  'a date of a wrong weekday': DATE('Mon, 01 Jan 2026 10:00:00 +0000', '2026-01-01T10:00:00.000Z'),
  'a date as C writes it': DATE('Thu Jan  1 10:00:00 2026', '2026-01-01T10:00:00.000Z'),
  'no date': { raw: crlf('From: a@a.test\nSubject: no date\n\nHello.\n'), date: null },
  'a date in words': DATE('yesterday, around noon', null),
  'an empty date': DATE('', null),
  'a date of the 31st of February': DATE('Tue, 31 Feb 2026 10:00:00 +0000', null),
  'a date of the 25th hour': DATE('Thu, 01 Jan 2026 25:00:00 +0000', null),
  'a date of ISO 8601': {
    ...DATE('2026-01-01T10:00:00Z', '2026-01-01T10:00:00.000Z'),
    unlike: { python: ['date'], why: NO_DAY },
  },
  'a date folded in two': DATE('Thu, 01 Jan\n 2026 10:00:00 +0000', '2026-01-01T10:00:00.000Z'),
  'a date of a leap second': {
    ...DATE('Thu, 01 Jan 2026 10:00:60 +0000', '2026-01-01T10:01:00.000Z'),
    unlike: { python: ['date'], why: NO_DAY },
  },
}

export const ODD_HEADERS: OddTable = { ...SUBJECTS, ...ADDRESSES, ...DATES }
