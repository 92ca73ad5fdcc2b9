/** The words that the author of a reply wrote: without quotations and signature. */

const LENGTH_MAX = 16 * 1024
const LINE_LENGTH_MAX = 1_000

const WROTE = String.raw`(?<!\p{L})(?:wrote|schrieb|geschrieben|a écrit|escribió|ha scritto|escreveu|schreef|geschreven|napisał\(?a?\)?|pisze|skrev|napsala?|kirjoitti)(?!\p{L})`
/** An address in brackets at the end of a line, as behind the name of an author. */
const AUTHOR = String.raw`[<(][^\s<>()@]{1,64}@[^\s<>()@]{1,255}[>)]\s?[:：]$`

/** Lines that begin a quotation, as mail programs write them in the languages that they speak. */
const QUOTE_BEGINS: readonly RegExp[] = [
  // Gmail, Apple Mail, Thunderbird, K-9, Proton: "On … wrote:" and its translations.
  new RegExp(
    String.raw`^(?:On|Am|Le|El|Il|Em|Op|W dniu|Den|Dňa|Dne|Pe|La)\b.{4,300}${WROTE}.{0,120}:$`,
    'iu',
  ),
  new RegExp(String.raw`^.{4,300}${WROTE}\s*[:：]$`, 'iu'),
  /^.{0,200}(?:написал|пишет|のメール|写道|작성|yazdı).{0,80}[:：]$/iu,
  // Zoho: "---- On … wrote ----".
  new RegExp(String.raw`^-{2,}\s.{4,300}${WROTE}\s*-{2,}$`, 'iu'),
  // Yandex, Mail.ru, and Gmail in Japanese or Russian: a time and an author, without a verb.
  new RegExp(String.raw`^.{0,200}\d{1,2}[:.]\d{2}.{0,200}${AUTHOR}`, 'u'),
  // Outlook, Proton, QQ, NetEase: a title between rules.
  /^[-_‐]{2,}\s*(?:Original|Ursprüngliche Nachricht|Message (?:d.origine|original)|Mensaje original|Messaggio originale|Mensagem original|Oorspronkelijk bericht|Wiadomość oryginalna|Ursprungligt meddelande|Oprindelig meddelelse|Opprinnelig melding|Alkuperäinen viesti|Původní zpráva|Pôvodná správa|Исходное сообщение|Replied Message|原始邮件|原邮件|回复的原邮件|元のメッセージ)/iu,
  /^_{20,}$/,
]
/** An attribution that is broken over two lines begins and ends like this. */
const BROKEN_ATTRIBUTIONS: ReadonlyArray<readonly [begin: RegExp, end: RegExp]> = [
  [/^(?:On|Am|Le|El|Il|Em|Op|W dniu|Den)\b/i, new RegExp(String.raw`${WROTE}\s*:$`, 'iu')],
  [
    /^(?:\d{4}年|\p{L}{2,12}\.?, ?\d{1,2} ).{0,200}\d{1,2}:\d{2}/u,
    new RegExp(String.raw`^.{0,100}${AUTHOR}`, 'u'),
  ],
]

/** Names of the fields of a message, as Outlook, GMX and others repeat them above it. */
const LABELS = [
  'From|Von|De|Da|Van|Od|Från|Fra|Lähettäjä|Feladó|Kimden|От|От кого|Отправитель|Від|差出人|送信者|发件人|寄件者|보낸 사람',
  'Sent|Date|Gesendet|Datum|Envoyé|Enviado(?: el| em)?|Enviada(?: em)?|Fecha|Inviato|Data|Verzonden|Wysłano|Skickat|Sendt|Dato|Lähetetty|Odesláno|Odoslané|Дата|Отправлено|送信日時|日時|日付|发送时间|日期|보낸 날짜',
  'To|Cc|An|À|A|Para|Aan|Do|Till|Til|Vastaanottaja|Komu|Кому|宛先|收件人|받는 사람',
  'Subject|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|Temat|Ämne|Emne|Aihe|Předmět|Predmet|Тема|件名|主题|主旨|제목',
].map(names => new RegExp(String.raw`^\*{0,2}(?:${names})\*{0,2}\s?[:：]\*{0,2}\s*\S`, 'iu'))
const FROM = 0

/** Lines that begin a signature: RFC 3676 section 4.3, and lines that programs append. */
const SIGNATURE_BEGINS: readonly RegExp[] = [
  /^--$/,
  /^(?:Sent (?:from|with|using|via)|Get Outlook for|Gesendet (?:von|mit)|Von meinem .{1,30} gesendet|Envoyé (?:de|depuis|avec|par)|Enviado (?:desde|de|do|con|com)|Inviato (?:da|con)|Verzonden (?:vanaf|met)|Verstuurd vanaf|Wysłan[eo] z|Skickat från|Sendt fra|Lähetetty|Отправлено (?:из|с))(?!\p{L})/iu,
]
/** Lines that programs draw between a reply and a quotation. */
const RULE = /^[-_=*‐–—]{3,}$/u

/** The author's own text, with single line feeds between lines. Linear. */
export function ownWords(text: string): string {
  const lines = text
    .slice(0, LENGTH_MAX)
    .replaceAll('\u{a0}', ' ')
    .split('\n')
    .map(line => line.slice(0, LINE_LENGTH_MAX).trim())
  const end = lines.findIndex(
    (line, index) => line !== '' && (beginsQuotation(lines, index) || matches(SIGNATURE_BEGINS, line)),
  )
  const own = lines.slice(0, end < 0 ? lines.length : end).filter(line => !line.startsWith('>'))
  while (own.length > 0 && (own.at(-1) === '' || RULE.test(own.at(-1)!))) own.pop()
  return own.join('\n').trim()
}

function beginsQuotation(lines: readonly string[], index: number): boolean {
  const line = lines[index]!
  if (line.startsWith('>')) return false
  if (matches(QUOTE_BEGINS, line)) return true
  const next = lines[index + 1] ?? ''
  if (BROKEN_ATTRIBUTIONS.some(([begin, end]) => begin.test(line) && end.test(next))) return true
  const label = labelOf(line)
  if (label < 0) return false
  if (label === FROM && line.includes('@')) return true
  const following = labelOf(next === '' ? (lines[index + 2] ?? '') : next)
  return following >= 0 && following !== label
}

function labelOf(line: string): number {
  return LABELS.findIndex(names => names.test(line))
}

function matches(patterns: readonly RegExp[], line: string): boolean {
  return patterns.some(pattern => pattern.test(line))
}
