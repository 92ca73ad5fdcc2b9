/** Messages built to overload their readers, each a few megabytes at most. */
export const BOMBS: Record<string, () => Buffer> = {
  ...nested(),
  ...floods(),
  ...headers(),
  ...encodings(),
}

const MEGABYTE = 1024 * 1024

function message(fields: string, body: string): Buffer {
  return Buffer.from(
    `From: a@b.test\r\nSubject: bomb\r\nMessage-ID: <bomb@b.test>\r\n${fields}\r\n\r\n${body}`,
    'latin1',
  )
}

function multipart(boundary: string, kind = 'mixed') {
  return `Content-Type: multipart/${kind}; boundary="${boundary}"`
}

function nested(): Record<string, () => Buffer> {
  const depth = (levels: number, name: (level: number) => string, kind = 'mixed') => {
    const parts = Array.from(
      { length: levels },
      (_, at) => `--${name(at)}\r\n${multipart(name(at + 1), kind)}\r\n\r\n`,
    )
    return message(multipart(name(0), kind), parts.join(''))
  }
  return {
    '65 levels': () => depth(65, at => `b${at}`),
    '1,000 levels': () => depth(1000, at => `b${at}`),
    '20,000 levels': () => depth(20_000, at => `b${at}`),
    '5,000 levels of one boundary': () => depth(5000, () => 'same'),
    '3,000 levels, each a prefix of the next': () => depth(3000, at => 'x'.repeat(1 + (at % 900))),
    '2,000 related levels': () => depth(2000, at => `r${at}`, 'related'),
    '2,000 messages within messages': () =>
      message('Content-Type: message/rfc822', 'Content-Type: message/rfc822\r\n\r\n'.repeat(2000)),
    'a digest of digests': () => depth(500, at => `d${at}`, 'digest'),
  }
}

function floods(): Record<string, () => Buffer> {
  return {
    '1,001 parts': () => message(multipart('b'), '--b\r\n\r\nx\r\n'.repeat(1001)),
    '300,000 empty parts': () => message(multipart('b'), '--b\r\n'.repeat(300_000)),
    '100,000 attachments': () =>
      message(multipart('b'), '--b\r\nContent-Disposition: attachment\r\n\r\n\r\n'.repeat(100_000)),
    'a million lines that are nearly delimiters': () => message(multipart('bb'), '--b\r\n'.repeat(1_000_000)),
    'dashes alone': () => message(multipart('b'), '-'.repeat(4 * MEGABYTE)),
    'two dashes a line': () => message(multipart('b'), '--\n'.repeat(1_500_000)),
    'closing delimiters alone': () => message(multipart('b'), '--b--\r\n'.repeat(500_000)),
    'a boundary of 60 KB': () => message(multipart('b'.repeat(60_000)), `--${'b'.repeat(60_000)}\r\n\r\nx`),
    'an empty boundary': () => message(multipart(''), '--\r\n\r\nx\r\n'.repeat(100_000)),
    'a boundary of blanks': () => message(multipart('   '), '--   \r\n\r\nx\r\n'.repeat(100_000)),
    'one line of 4 MB': () => message('X: y', 'a'.repeat(4 * MEGABYTE)),
    'empty lines alone': () => message(multipart('b'), '\r\n'.repeat(2_000_000)),
    'line feeds alone': () => message(multipart('b'), '\n'.repeat(4_000_000)),
  }
}

function headers(): Record<string, () => Buffer> {
  return {
    'a million fields': () => message('X: y\r\n'.repeat(600_000).trimEnd(), 'x'),
    '60,000 fields in 60 parts': () =>
      message(multipart('b'), `--b\r\n${'X: y\r\n'.repeat(1000)}\r\n`.repeat(60)),
    'a header that does not end': () => Buffer.from(`Subject: ${'x'.repeat(4 * MEGABYTE)}`),
    'a field folded a million times': () => message(`To: a@b.test,${'\r\n a@b.test,'.repeat(400_000)}`, 'x'),
    'a type with 100,000 parameters': () =>
      message(`Content-Type: text/plain${'; a=b'.repeat(100_000)}`, 'x'),
    'a file name in 100,000 pieces': () =>
      message(
        `Content-Disposition: attachment${Array.from({ length: 100_000 }, (_, at) => `; filename*${at}=x`).join('')}`,
        'x',
      ),
    'a quote that does not end': () =>
      message(`Content-Type: text/plain; charset="${'\\"'.repeat(MEGABYTE)}`, 'x'),
    'comments in comments': () => message(`To: ${'('.repeat(MEGABYTE)}`, 'x'),
    'angle brackets': () => message(`To: ${'<'.repeat(MEGABYTE)}`, 'x'),
    'encoded words without an end': () => message(`Subject: ${'=?utf-8?B?'.repeat(300_000)}`, 'x'),
    'encoded words of stateful charsets': () =>
      message(
        `Subject: ${'=?iso-2022-jp?Q?=1B$BF|?= =?iso-2022-jp?Q?=1B(B?= =?hz?Q?~{?= '.repeat(20_000)}`,
        'x',
      ),
    'a file name of encoded words': () =>
      message(`Content-Disposition: attachment; filename="${'=?utf-8?Q?=41?= '.repeat(200_000)}"`, 'x'),
    'a content id of 4 MB': () => message(`Content-ID: <${'x'.repeat(4 * MEGABYTE)}>`, 'x'),
  }
}

function encodings(): Record<string, () => Buffer> {
  const encoded = (encoding: string, body: string, type = 'text/plain; charset=utf-8') =>
    message(`Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}`, body)
  return {
    'base64 of invalid characters': () => encoded('base64', '*'.repeat(4 * MEGABYTE)),
    'base64 of padding': () => encoded('base64', 'A='.repeat(2 * MEGABYTE)),
    'quoted-printable of equals signs': () => encoded('quoted-printable', '='.repeat(4 * MEGABYTE)),
    'quoted-printable of soft breaks': () => encoded('quoted-printable', '=\r\n'.repeat(2_000_000)),
    'quoted-printable of blanks alone': () => encoded('quoted-printable', ' '.repeat(5 * MEGABYTE)),
    'quoted-printable of blanks before line ends': () =>
      encoded('quoted-printable', `${' '.repeat(80)}\r\n`.repeat(60_000)),
    'quoted-printable of equals signs and blanks': () => encoded('quoted-printable', '= '.repeat(2_500_000)),
    'uuencode of lines that claim more than they contain': () =>
      encoded('x-uuencode', `begin 644 a\n${'_\n'.repeat(2_000_000)}`, 'application/octet-stream'),
    'uuencode of one line': () => encoded('x-uuencode', `begin 644 a\n${'M'.repeat(5 * MEGABYTE)}`),
    'uuencode of blanks': () => encoded('uuencode', ' '.repeat(5 * MEGABYTE)),
    'a thousand texts of uuencode': () =>
      message(
        multipart('b'),
        `--b\r\nContent-Transfer-Encoding: x-uue\r\n\r\nbegin 6 a\n${'_\n'.repeat(2000)}\r\n`.repeat(1000),
      ),
    'UTF-7': () => encoded('7bit', '+AGE-'.repeat(MEGABYTE), 'text/plain; charset=utf-7'),
    'ISO-2022-JP that shifts all the time': () =>
      encoded('7bit', '\x1b$B\x1b(B'.repeat(800_000), 'text/plain; charset=iso-2022-jp'),
    'ISO-2022-JP-1 that shifts all the time': () =>
      encoded('7bit', '\x1b$(D0!\x1b(J\\'.repeat(500_000), 'text/plain; charset=iso-2022-jp-1'),
    'ISO-2022-JP of escapes alone': () =>
      encoded('7bit', '\x1b'.repeat(5 * MEGABYTE), 'text/plain; charset=iso-2022-jp'),
    'ISO-2022-KR that shifts all the time': () =>
      encoded('7bit', '\x0eGQ\x0f'.repeat(1.25 * MEGABYTE), 'text/html; charset=iso-2022-kr'),
    'HZ that shifts all the time': () =>
      encoded('7bit', '~{VP~}~~'.repeat(600_000), 'text/plain; charset=hz-gb-2312'),
    'cp932, which takes a library': () =>
      encoded('8bit', '\x8a\xbf'.repeat(2.5 * MEGABYTE), 'text/html; charset=cp932'),
    'UTF-16 of halves of pairs': () =>
      encoded('8bit', '\x00\xd8'.repeat(2.5 * MEGABYTE), 'text/plain; charset=utf-16le'),
    'text of 5 MB in a thousand parts': () =>
      message(multipart('b'), `--b\r\n\r\n${'x'.repeat(5 * 1024)}\r\n`.repeat(1000)),
    'a text of line ends': () => encoded('8bit', '\r\n'.repeat(2.5 * MEGABYTE)),
    'a text of every other NUL': () => encoded('8bit', 'x\0'.repeat(2.5 * MEGABYTE)),
    'text that is not of its charset': () => encoded('8bit', '\xff'.repeat(5 * MEGABYTE)),
    'text of no charset at all': () => encoded('8bit', '\xff'.repeat(5 * MEGABYTE), 'text/html'),
    'a body of NUL': () => encoded('8bit', '\0'.repeat(5 * MEGABYTE)),
    'text of 6 MB': () => encoded('8bit', 'ü'.repeat(6 * MEGABYTE), 'text/html; charset=iso-8859-1'),
    'a charset of 1 MB': () => message(`Content-Type: text/plain; charset=${'x'.repeat(MEGABYTE)}`, 'x'),
  }
}
