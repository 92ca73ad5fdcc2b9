import { LANGUAGES, type Language } from './languages.ts'

/** Replies whose only content is that the author wants no more mail. */

const LENGTH_MAX = 300

const POLITE = String.raw`(?:please|pls|kindly|could you|can you|bitte|s.il (?:vous|te) pla(?:î|i)t|svp|merci de(?: bien vouloir)?|veuillez|pourriez.vous|pouvez.vous|por favor|(?:les )?ruego|per favore|(?:vi |la )?prego di|cortesemente|per cortesia|se faz favor|alstublieft|gelieve|a\.?u\.?b\.?|graag|prosz(?:ę|e)|v(?:ä|a)nligen|sn(?:ä|a)lla|venligst|v(?:æ|ae)r venlig at|vennligst|pros(?:í|i)m|kiitos)`
const NAME = String.raw`(?:[ ,]+[\p{L}'’.-]{1,30}){0,3}`
const THANKS = String.raw`(?:thanks|thank you|thx|cheers|regards|best|(?:kind |best )regards|sincerely|danke|vielen dank|mfg|(?:mit )?(?:freundlichen|besten|viele) gr(?:ü|ue)(?:ß|ss)en?|merci|cordialement|bien (?:à|a) vous|gracias|saludos|un saludo|grazie|(?:cordiali )?saluti|obrigad[oa]|atenciosamente|bedankt|(?:met )?vriendelijke groet(?:en)?|groet(?:en|jes)?|dzi(?:ę|e)kuj(?:ę|e)|pozdrawiam|tack|mvh|(?:med )?v(?:ä|a)nliga? h(?:ä|a)lsning(?:ar)?|tak|takk|(?:med )?venlig hilsen|(?:med )?vennlig hilsen|hilsen|kiitos|d(?:ě|e)kuji)`
const HELLO = String.raw`(?:hi|hello|hey|dear|good (?:morning|day|afternoon)|hallo|guten tag|sehr geehrte[rs]?|bonjour|salut|hola|buenos d(?:í|i)as|ciao|buongiorno|ol(?:á|a)|bom dia|beste|geachte|dzie(?:ń|n) dobry|hej|cze(?:ść|sc)|hei|moi|dobr(?:ý|y) den)`

const OPT_OUT = new RegExp(
  String.raw`^(?:${POLITE}[, ]*)?(?:${LANGUAGES.map(({ optOuts }: Language) => optOuts).join('|')})(?:[, ]*${POLITE})?(?:[, ]+${THANKS})?$`,
  'iu',
)
const GREETING = new RegExp(`^${HELLO}(?: (?:team|all|there))?${NAME}$`, 'iu')
const CLOSING = new RegExp(`^${THANKS}${NAME}$`, 'iu')
const NAME_LINE = /^[\p{L}'’.-]{1,30}(?: [\p{L}'’.-]{1,30}){0,2}$/u

/** Whether words are nothing but an opt-out, with a greeting before it and a closing and a name behind it. */
export function isOptOut(own: string): boolean {
  if (own.length > LENGTH_MAX) return false
  const sentences = own
    .normalize('NFC')
    .split(/[.!?\n;]+/)
    .map(sentence =>
      sentence
        .replaceAll(/[*_"“”„«»()]|(?<!\p{L})'|'(?!\p{L})/gu, '')
        .replaceAll(/\s+/g, ' ')
        .replace(/[,:\s]+$/, '')
        .trim(),
    )
    .filter(sentence => sentence !== '')
  let hasAsked = false
  let hasClosed = false
  for (const sentence of sentences) {
    if (OPT_OUT.test(sentence)) hasAsked = true
    else if (CLOSING.test(sentence)) hasClosed = true
    else if (GREETING.test(sentence) && !hasAsked) continue
    else if (!(hasClosed && hasAsked && NAME_LINE.test(sentence))) return false
  }
  return hasAsked
}
