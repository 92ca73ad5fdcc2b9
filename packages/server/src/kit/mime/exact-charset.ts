import iconv from 'iconv-lite'

/** A text that can be changed and written again, while all other bytes stay. */
export interface ExactText {
  text: string
  encode(text: string): Buffer
}

/** Names of codecs that the library accepts although they are not charsets. */
const CODECS = /^\W*(?:hex|base64|binary|internal|utf-?7)/i
const LABEL_LENGTH_MAX = 40

/** Reads bytes in their charset, or byte by byte if it is not theirs. Null if they could not be written again as they were. */
export function readExactly(bytes: Buffer, charset: string | null): ExactText | null {
  const label = (charset ?? '').trim().toLowerCase()
  const utf8: ExactText = { text: bytes.toString('utf8'), encode: text => Buffer.from(text, 'utf8') }
  const isUtf8 = label === '' || label === 'us-ascii' || label === 'utf-8' || label === 'utf8'
  if (isUtf8 && utf8.encode(utf8.text).equals(bytes)) return utf8
  if (isUtf8) return { text: bytes.toString('latin1'), encode: text => Buffer.from(text, 'latin1') }
  if (label.length > LABEL_LENGTH_MAX || CODECS.test(label) || !iconv.encodingExists(label)) return null
  const encode = (text: string) => iconv.encode(text, label, { addBOM: false })
  const text = iconv.decode(bytes, label, { stripBOM: false })
  return encode(text).equals(bytes) ? { text, encode } : null
}
