/* The words that the author of a reply wrote: without what is quoted and without the signature. */

const LENGTH_MAX = 16 * 1024
const LINE_LENGTH_MAX = 1_000

/** Lines that begin a quotation, as mail programs write them in the languages that they speak. */
const QUOTE_BEGINS: readonly RegExp[] = [
  // Gmail, Apple Mail, Thunderbird, K-9: "On … wrote:" and its translations, on one line or two.
  /^(?:On|Am|Le|El|Il|Em|Op|W dniu|Den|Dňa|Dne|Pe|La)\b.{4,300}\b(?:wrote|schrieb|geschrieben|a écrit|escribió|ha scritto|escreveu|schreef|geschreven|napisał\(?a?\)?|pisze|skrev|napsala?|kirjoitti)\b.{0,120}:\s*$/i,
  /^.{4,300}\b(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|napisał\(?a?\)?|skrev|kirjoitti)\s*:\s*$/i,
  /^.{0,200}(?:написал|пишет|のメール|写道|작성).{0,80}[:：]\s*$/i,
  // Outlook: a rule, or the fields of the message.
  /^[-_]{2,}\s*(?:Original Message|Original-Nachricht|Ursprüngliche Nachricht|Message d.origine|Message original|Mensaje original|Messaggio originale|Mensagem original|Oorspronkelijk bericht|Wiadomość oryginalna|Ursprungligt meddelande|Oprindelig meddelelse|Opprinnelig melding|Alkuperäinen viesti|Původní zpráva)\s*[-_]*/i,
  /^_{20,}\s*$/,
  /^\*?(?:From|Von|De|Da|Van|Od|Från|Fra|Lähettäjä)\s*:\*?\s.*@/i,
]
/** An attribution that is broken over two lines ends like this. */
const ATTRIBUTION_END =
  /\b(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|napisał\(?a?\)?|skrev)\s*:\s*$/i
const ATTRIBUTION_START = /^(?:On|Am|Le|El|Il|Em|Op|W dniu|Den)\b/i

/** Lines that begin a signature: RFC 3676 section 4.3, and what telephones append. */
const SIGNATURE_BEGINS: readonly RegExp[] = [
  /^--\s*$/,
  /^(?:Sent from|Get Outlook for|Gesendet (?:von|mit)|Von meinem .{1,30} gesendet|Envoyé (?:de|depuis)|Enviado (?:desde|de|do)|Inviato da|Verzonden vanaf|Verstuurd vanaf|Wysłane z|Skickat från|Sendt fra|Lähetetty)\b/i,
]

/** What the author wrote, with single line feeds between lines. Linear. */
export function ownWords(text: string): string {
  const lines = text.slice(0, LENGTH_MAX).replaceAll('\u{a0}', ' ').split('\n')
  const own: string[] = []
  for (const [index, whole] of lines.entries()) {
    const line = whole.slice(0, LINE_LENGTH_MAX).trim()
    if (line.startsWith('>')) continue
    if (begins(QUOTE_BEGINS, line) || begins(SIGNATURE_BEGINS, line)) break
    if (
      ATTRIBUTION_START.test(line) &&
      ATTRIBUTION_END.test((lines[index + 1] ?? '').slice(0, LINE_LENGTH_MAX).trim())
    )
      break
    own.push(line)
  }
  return own.join('\n').trim()
}

function begins(patterns: readonly RegExp[], line: string): boolean {
  return line !== '' && patterns.some(pattern => pattern.test(line))
}
