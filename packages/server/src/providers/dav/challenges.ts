/** A way to log in that a server offers (RFC 9110 section 11.6.1). */
export interface Challenge {
  /** In lower case. */
  scheme: string
  /** By their names in lower case. */
  parameters: Readonly<Record<string, string>>
}

const HEADER_CHARACTERS_MAX = 8_192
const TOKEN = String.raw`[!#$%&'*+.^_\`|~\w-]+`
const PART = new RegExp(
  String.raw`\s*(?:,\s*)*(?:(${TOKEN})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))|(${TOKEN})(?:\s+[\w+/.~-]+=*(?=\s*(?:,|$)))?)`,
  'y',
)

/** The challenges of `WWW-Authenticate`, in its order. The list ends at text that cannot be read. */
export function readChallenges(header: string | string[] | undefined): Challenge[] {
  return [header ?? []].flat().flatMap(readOne)
}

function readOne(header: string): Challenge[] {
  const text = header.slice(0, HEADER_CHARACTERS_MAX)
  const challenges: Array<{ scheme: string; parameters: Record<string, string> }> = []
  const part = new RegExp(PART)
  for (let match = part.exec(text); match; match = part.exec(text)) {
    const [, name, quoted, plain, scheme] = match
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), parameters: {} })
    else if (name !== undefined) {
      const parameters = challenges.at(-1)?.parameters
      if (parameters) parameters[name.toLowerCase()] = quoted?.replaceAll(/\\(.)/gs, '$1') ?? plain ?? ''
    }
  }
  return challenges
}
