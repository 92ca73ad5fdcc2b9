import { LANGUAGES, type Language } from './languages.ts'

const DAY_MS = 86_400_000
/** A day that passed so recently is still the one that was meant. */
const PAST_DAYS_MAX = 7
const FUTURE_DAYS_MAX = 400
/** Between the words for a return and its date: a weekday, an article, a comma. */
const GAP = String.raw`[\s:,(]{1,3}(?:(?:on|the|den|der|dem|le|el|il|o|op|dnia|ce|am|vom|mon|dia|day|w|we|v|ve)\s+){0,2}`
const TEXT_LENGTH_MAX = 4_000
/** Characters that are read behind a day to see which period begins on it. */
const CLAUSE_LENGTH = 60

/** A day without a time. */
interface Day {
  year: number | null
  month: number
  day: number
}

/**
 * The day on which the author of an automatic reply is back, as the text has it: `2026-03-12`. If the text names only
 * the last day of the absence, that one. Null if it names none, or none that is near the day of the message.
 */
export function findReturnDate(text: string, receivedAt: Date): string | null {
  const begun = text.slice(0, TEXT_LENGTH_MAX).replaceAll(/\s+/g, ' ')
  for (const which of ['back', 'since', 'until'] as const) {
    for (const { language, patterns, absence } of PATTERNS) {
      for (const match of patterns[which].flatMap(pattern => [...begun.matchAll(pattern)])) {
        const end = match.index + match[0].length
        if (which === 'since' && absence.test(clauseFrom(begun, end))) continue
        const found = readDay(match.groups ?? {}, language, receivedAt)
        if (found) return found
      }
    }
  }
  return null
}

/** The rest of a clause. A dot behind a number ends it only before a capital letter. */
function clauseFrom(text: string, start: number): string {
  return text.slice(start, start + CLAUSE_LENGTH).replace(/^\.(?= \p{Ll})/u, '')
}

interface LanguagePatterns {
  language: Language
  patterns: Record<'back' | 'since' | 'until', readonly RegExp[]>
  /** Words that follow the first day of an absence: its last day, or the absence. */
  absence: RegExp
}

const PATTERNS: readonly LanguagePatterns[] = LANGUAGES.map(language => ({
  language,
  patterns: {
    back: patternsOf(language, language.back, language.backBehind),
    since: patternsOf(language, language.since, null),
    until: patternsOf(language, language.until, language.untilBehind),
  },
  absence: new RegExp(
    String.raw`^[^.!?;]*(?<!\p{L})(?:${[language.until, language.outOfOffice].filter(Boolean).join('|')})(?!\p{L})`,
    'iu',
  ),
}))

/** Days with words before them, or behind them. */
function patternsOf(language: Language, before: string | null, behind: string | null): RegExp[] {
  const { named, weekday } = daysOf(language)
  const day = String.raw`(?:${named}|(?<weekday>${weekday})(?!\p{L}))`
  return [
    ...(before === null ? [] : [String.raw`(?<!\p{L})(?:${before})${GAP}${day}`]),
    ...(behind === null ? [] : [String.raw`(?<![\p{L}\d])${day}[.,]{0,2}\s(?:${behind})(?!\p{L})`]),
  ].map(source => new RegExp(source, 'giu'))
}

function daysOf({ months, weekdays }: Language): { named: string; weekday: string } {
  const month = `(?:${months.join('|')})`
  const weekday = `(?:${weekdays.join('|')})`
  const day = String.raw`(?<day>\d{1,2})(?:st|nd|rd|th|er|º|ª|\.|:?e)?`
  const year = String.raw`(?:,?\s*(?:de(?:l)?\s+|r\.\s*)?(?<year>\d{4}))?`
  const forms = [
    String.raw`(?<iso>\d{4}-\d{2}-\d{2})`,
    String.raw`(?<first>\d{1,2})(?<sign>[./-])\s?(?<second>\d{1,2})(?:\k<sign>\s?(?<numericYear>\d{4}|\d{2}))?(?!\d|[./-]\d)`,
    String.raw`${day}\s*(?:of\s+|de\s+)?(?<month>${month})(?!\p{L})\.?${year}`,
    String.raw`(?<monthFirst>${month})\.?\s+(?<dayAfter>\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(?<yearAfter>\d{4}))?`,
  ]
  const named = String.raw`(?:${weekday}[.,]?\s+(?:(?:the|den|der|dem|le|el|il|o|dnia)\s+)?)?(?:${forms.join('|')})`
  return { named, weekday }
}

function readDay(
  groups: Record<string, string | undefined>,
  language: Language,
  receivedAt: Date,
): string | null {
  if (groups['weekday']) return nextWeekday(indexOfWord(language.weekdays, groups['weekday']), receivedAt)
  const day = dayOf(groups, language)
  if (!day) return null
  const years =
    day.year === null ? [receivedAt.getUTCFullYear(), receivedAt.getUTCFullYear() + 1] : [day.year]
  for (const year of years) {
    const date = new Date(Date.UTC(year, day.month - 1, day.day))
    const isDay = date.getUTCMonth() === day.month - 1 && date.getUTCDate() === day.day
    const days = (date.getTime() - receivedAt.getTime()) / DAY_MS
    if (isDay && days >= -PAST_DAYS_MAX && days <= FUTURE_DAYS_MAX) return date.toISOString().slice(0, 10)
  }
  return null
}

function dayOf(groups: Record<string, string | undefined>, language: Language): Day | null {
  const { iso, first, second, sign, numericYear, month, monthFirst } = groups
  if (iso) {
    const [year = 0, isoMonth = 0, day = 0] = iso.split('-').map(Number)
    return { year, month: isoMonth, day }
  }
  if (first && second)
    return numericDay([Number(first), Number(second)], { sign, year: numericYear, language })
  const name = month ?? monthFirst
  if (!name) return null
  const year = groups['year'] ?? groups['yearAfter']
  return {
    year: year ? Number(year) : null,
    month: indexOfWord(language.months, name) + 1,
    day: Number(groups['day'] ?? groups['dayAfter']),
  }
}

/** In English, `03/04` may be either: it is taken only if just one reading is a date. */
function numericDay(
  [first, second]: [number, number],
  { sign, year, language }: { sign: string | undefined; year: string | undefined; language: Language },
): Day | null {
  const named = year ? Number(year.length === 2 ? `20${year}` : year) : null
  const dayFirst = { year: named, month: second, day: first }
  if (language.name !== 'English' || sign === '.' || first > 12 || first === second) return dayFirst
  return second > 12 ? { year: named, month: first, day: second } : null
}

function nextWeekday(index: number, receivedAt: Date): string {
  const today = (receivedAt.getUTCDay() + 6) % 7
  const days = (index - today + 7) % 7 || 7
  return new Date(receivedAt.getTime() + days * DAY_MS).toISOString().slice(0, 10)
}

function indexOfWord(alternatives: readonly string[], word: string): number {
  const lower = word.toLowerCase()
  return alternatives.findIndex(words => words.split('|').includes(lower))
}
