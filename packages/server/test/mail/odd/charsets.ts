import { encodeText } from '../charsets.ts'
import { encodedWords, transfer } from '../mime.ts'
import { mail, type OddMessage, type OddTable } from './odd-message.ts'

/** One text for each charset with a decoder of its own, in the body and in the subject. */
const TEXTS: Record<string, string> = {
  'utf-8': 'Grüße, 世界 🎉',
  'iso-8859-1': 'Grüße aus Köln',
  'iso-8859-2': 'Zażółć gęślą jaźń',
  'iso-8859-3': 'Ĉu vi ŝatas ĝin?',
  'iso-8859-4': 'Šiauliai ir Ķemeri',
  'iso-8859-5': 'Привет, мир',
  'iso-8859-6': 'مرحبا بالعالم',
  'iso-8859-7': 'Καλημέρα κόσμε',
  'iso-8859-8': 'שלום עולם',
  'iso-8859-9': 'Günaydın İstanbul, şöyle',
  'iso-8859-10': 'Þetta er į íslensku',
  'iso-8859-13': 'Ačiū labai, ąžuole',
  'iso-8859-14': 'Ŵyth ŷd',
  'iso-8859-15': 'Cœur à 5 €',
  'iso-8859-16': 'Bună ziua, țară și',
  'windows-1250': 'Příliš žluťoučký kůň',
  'windows-1251': 'Доброе утро, страна',
  'windows-1252': 'Smart “quotes” – €',
  'windows-1253': 'Ώρα καλή',
  'windows-1254': 'Çalışıyor mu?',
  'windows-1255': 'שלום, מה שלומך?',
  'windows-1256': 'سلام بر شما',
  'windows-1257': 'Labas rytas, šalie',
  'windows-1258': 'đông và ôn',
  'windows-874': 'สวัสดีชาวโลก',
  'tis-620': 'สวัสดี',
  'koi8-r': 'Добрый день',
  'koi8-u': 'Добрий день, їжак',
  ibm866: 'Привет из DOS',
  macintosh: 'Füße à la française',
  'x-mac-cyrillic': 'Привет с Мака',
  'iso-2022-jp': 'こんにちは世界、ABC と漢字',
  'euc-jp': '日本語のテスト',
  shift_jis: '表示できますか',
  gbk: '你好，世界',
  gb18030: '简体中文邮件',
  gb2312: '中文邮件测试',
  big5: '繁體中文郵件',
  'euc-kr': '안녕하세요 세계',
  'ks_c_5601-1987': '한국어 메일',
  'utf-7': 'Grüße + 世界',
}

/** Python's names for charsets that it knows under other names. */
const PYTHON_LACKS = new Set(['windows-874', 'x-mac-cyrillic'])

function textMail(
  charset: string,
  text: string,
  encoding: 'quoted-printable' | 'base64' | '8bit',
): OddMessage {
  const bytes = encodeText(text, charset)
  const scheme = encoding === 'base64' ? 'B' : 'Q'
  const raw = mail(
    `Subject: ${encodedWords(text, charset, scheme)}\nContent-Type: text/plain; charset=${charset}\nContent-Transfer-Encoding: ${encoding}`,
    transfer(bytes, encoding),
  )
  const message: OddMessage = { raw, text, subject: text, attachments: [] }
  if (!PYTHON_LACKS.has(charset)) return message
  return { ...message, unlike: { python: ['text', 'subject'], why: 'Python does not know the name' } }
}

function inEach(encoding: 'quoted-printable' | 'base64' | '8bit'): OddTable {
  return Object.fromEntries(
    Object.entries(TEXTS).map(([charset, text]) => [
      `${charset} in ${encoding}`,
      textMail(charset, text, encoding),
    ]),
  )
}

const HTML = 'Content-Type: text/html; charset='

function typed(type: string, body: Buffer | string, encoding = '8bit') {
  return mail(`Content-Type: ${type}\nContent-Transfer-Encoding: ${encoding}`, body)
}

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

/** Names outside the WHATWG list, byte order marks, and wrong names. */
const SPECIAL: OddTable = {
  'cp850, which no browser knows': {
    raw: typed('text/plain; charset=cp850', Buffer.from('Gr\x81\xe1e', 'latin1')),
    text: 'Grüße',
  },
  cp437: {
    raw: typed('text/plain; charset=IBM437', Buffer.from('\x90t\x82', 'latin1')),
    text: 'Été',
  },
  'cp932 by its number': {
    raw: typed('text/plain; charset=cp932', encodeText('漢字', 'shift_jis')),
    text: '漢字',
  },
  'utf-16 with a mark of big endians': {
    raw: typed('text/plain; charset=utf-16', utf16be('\ufeffGrüße').toString('base64'), 'base64'),
    text: 'Grüße',
  },
  'utf-16 with a mark of little endians': {
    raw: typed(
      'text/plain; charset=utf-16',
      Buffer.from('\ufeffGrüße', 'utf16le').toString('base64'),
      'base64',
    ),
    text: 'Grüße',
  },
  'utf-16be': {
    raw: typed('text/plain; charset=utf-16be', utf16be('世界 🎉').toString('base64'), 'base64'),
    text: '世界 🎉',
  },
  'utf-16le': {
    raw: typed(
      'text/plain; charset=utf-16le',
      Buffer.from('世界 🎉', 'utf16le').toString('base64'),
      'base64',
    ),
    text: '世界 🎉',
  },
  'utf-16 of an odd number of bytes': {
    raw: typed('text/plain; charset=utf-16le', Buffer.from('a\0b\0c', 'latin1').toString('base64'), 'base64'),
    text: 'ab\ufffd',
    unlike: { python: ['text'], why: 'Python gives no text where a character is cut' },
  },
  'utf-32 with its mark': {
    raw: typed(
      'text/plain; charset=utf-32',
      Buffer.from('fffe00004700000072000000fc000000', 'hex').toString('base64'),
      'base64',
    ),
    text: 'Grü',
  },
  'utf-8 with a byte order mark': {
    raw: typed('text/plain; charset=utf-8', '\ufeffHello, 世界\n'),
    text: 'Hello, 世界',
    unlike: { python: ['text'], why: 'Python keeps the mark, which is no text' },
  },
  'utf-7 with a plus that ends nowhere': {
    raw: typed('text/plain; charset=utf-7', 'a+- b+AGE c+', '7bit'),
    text: 'a+ ba c+',
    unlike: { python: ['text'], why: 'Python gives no text where a shift is not ended' },
  },
  'an unknown charset of UTF-8': {
    raw: typed('text/plain; charset=x-no-such-thing', 'Grüße\n'),
    text: 'Grüße',
    unlike: { python: ['text'], why: 'Python gives no text of charsets that it does not know' },
  },
  'an unknown charset of Latin-1': {
    raw: typed('text/plain; charset=x-unknown', Buffer.from('Gr\xfc\xdfe\r\n', 'latin1')),
    text: 'Grüße',
    unlike: { python: ['text'], why: 'Python gives no text of charsets that it does not know' },
  },
  'a charset that is a transfer encoding': {
    raw: typed('text/plain; charset=hex', 'Hello.\n'),
    text: 'Hello.',
    unlike: { python: ['text'], why: 'Python takes the names of its codecs for charsets' },
  },
  'a charset named base64': {
    raw: typed('text/plain; charset=base64', 'Hello.\n'),
    text: 'Hello.',
    unlike: { python: ['text'], why: 'Python takes the names of its codecs for charsets' },
  },
  'utf-8 that is windows-1252': {
    raw: typed('text/plain; charset=utf-8', Buffer.from('caf\xe9\r\n', 'latin1')),
    text: 'caf\ufffd',
    unlike: { python: ['text'], why: 'Python gives no text; wrong charsets are not guessed' },
  },
  'us-ascii that is UTF-8': {
    raw: typed('text/plain; charset=us-ascii', 'Grüße\n'),
    text: 'Grüße',
    unlike: { python: ['text'], why: 'Python gives no text; ASCII tells nothing of what is beyond it' },
  },
  'us-ascii that is windows-1252': {
    raw: typed('text/plain; charset=us-ascii', Buffer.from('\x93Hi\x94\r\n', 'latin1')),
    text: '“Hi”',
    unlike: { python: ['text'], why: 'Python gives no text; ASCII tells nothing of what is beyond it' },
  },
  'Latin-1 that is UTF-8': {
    raw: typed('text/plain; charset=iso-8859-1', 'é\n'),
    text: 'Ã©',
  },
  'Latin-1 with the quotes of windows-1252': {
    raw: typed('text/plain; charset=iso-8859-1', Buffer.from('\x93Hi\x94\r\n', 'latin1')),
    text: '“Hi”',
    unlike: { python: ['text'], why: 'All of the web and of mail reads the name as windows-1252' },
  },
  'no charset and UTF-8': {
    raw: typed('text/plain', 'Grüße\n'),
    text: 'Grüße',
    unlike: { python: ['text'], why: 'Python takes it for ASCII' },
  },
  'no charset, and UTF-8 with a sign that was lost before': {
    raw: typed('text/plain', 'Gr\ufffdße\n'),
    text: 'Gr\ufffdße',
    unlike: { python: ['text'], why: 'Python takes it for ASCII' },
  },
  'no charset and Latin-1': {
    raw: typed('text/html', Buffer.from('<p>Gr\xfc\xdfe</p>\r\n', 'latin1')),
    html: '<p>Grüße</p>',
    unlike: { python: ['html'], why: 'Python takes it for ASCII' },
  },
  'a charset in quotes': {
    raw: typed('text/plain; charset="koi8-r"', encodeText('Да', 'koi8-r')),
    text: 'Да',
  },
  'a charset in single quotes': {
    raw: typed("text/plain; charset='koi8-r'", encodeText('Да', 'koi8-r')),
    text: 'Да',
  },
  'a charset with a comment': {
    raw: typed('text/plain; charset=koi8-r (Russian)', encodeText('Да', 'koi8-r')),
    text: 'Да',
    unlike: { python: ['text'], why: 'Python takes the comment for a part of the name' },
  },
  'a charset by RFC 2231': {
    raw: typed("text/plain; charset*=us-ascii'en'koi8-r", encodeText('Да', 'koi8-r')),
    text: 'Да',
  },
  'iso-2022-jp that ends shifted': {
    raw: typed('text/plain; charset=iso-2022-jp', Buffer.from('\x1b$B$3$s', 'latin1'), '7bit'),
    text: 'こん',
  },
  'iso-2022-jp that shifts to nothing': {
    raw: typed('text/plain; charset=iso-2022-jp', '\x1b(B\x1b$B$3\x1b(B\x1b$B$s\x1b$B\x1b(B.\n', '7bit'),
    text: 'こん.',
  },
  'iso-2022-jp with JIS X 0212, as iso-2022-jp-1 allows': {
    raw: typed(
      'text/plain; charset=iso-2022-jp-1',
      '\x1b$BF|K\\\x1b$(D0!\x1b(J \\ \x1b(B ok \x1b$(D"7\n',
      '7bit',
    ),
    text: '日本丂 ￥  ok ～',
    unlike: { python: ['text'], why: 'Python has another tilde and another yen sign' },
  },
  'iso-2022-jp-2 with Chinese, Korean and Latin letters': {
    raw: typed(
      'text/plain; charset=iso-2022-jp-2',
      '\x1b$BF|K\\\x1b$AVPND\x1b$(CGQ19\x1b(B ok \x1b.A\x1bNi.\n',
      '7bit',
    ),
    text: '日本\ufffd\ufffd\ufffd\ufffd ok \ufffd.',
    unlike: {
      python: ['text'],
      why: 'The other sets of RFC 1554 are not known, and hardly anyone uses them',
    },
  },
  'iso-2022-jp-3, whose first plane is nearly JIS X 0208': {
    raw: typed('text/plain; charset=iso-2022-jp-3', '\x1b$(OF|K\\\x1b(B ok \x1b$(P!"\x1b(B.\n', '7bit'),
    text: '日本 ok \ufffd.',
    unlike: { python: ['text'], why: 'The second plane is not known' },
  },
  'iso-2022-jp-2004': {
    raw: typed('text/plain; charset=iso-2022-jp-2004', '\x1b$(QF|K\\\x1b(B ok\n', '7bit'),
    text: '日本 ok',
  },
  'iso-2022-cn': {
    raw: typed(
      'text/plain; charset=iso-2022-cn',
      '\x1b$)APlain, \x0eVPND\x0f, \x1b$)G\x0e!"!#\x0f ok\n\x1b$)A\x0eVPND\nplain\n',
      '7bit',
    ),
    text: 'Plain, 中文, \ufffd\ufffd ok\n中文\nplain',
    unlike: { python: ['text'], why: 'Python does not know the name' },
  },
  'iso-2022-kr': {
    raw: typed('text/plain; charset=iso-2022-kr', '\x1b$)CPlain, \x0eGQ19\x0f, \x0eGQ19\nplain\n', '7bit'),
    text: 'Plain, 한국, 한국\nplain',
  },
  'hz-gb-2312': {
    raw: typed('text/plain; charset=hz-gb-2312', 'a ~~ ~{VPND~} b~\n ~{VPND\nc ~x\n', '7bit'),
    text: 'a ~ 中文 b 中文\nc ~x',
    unlike: { python: ['text'], why: 'Python gives no text of what is not well formed' },
  },
  'a meta element that says otherwise': {
    raw: mail(`${HTML}utf-8`, '<meta charset="iso-8859-1"><p>ü</p>\n'),
    html: '<meta charset="iso-8859-1"><p>ü</p>',
  },
  'half a surrogate': {
    raw: typed(
      'text/plain; charset=utf-16le',
      Buffer.from('610000d86200', 'hex').toString('base64'),
      'base64',
    ),
    text: 'a\ufffdb',
    unlike: { python: ['text'], why: 'Python gives no text of it' },
  },
}

export const ODD_CHARSETS: OddTable = {
  ...inEach('quoted-printable'),
  ...inEach('base64'),
  ...SPECIAL,
}
