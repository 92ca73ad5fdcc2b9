/*
 * Words by which servers refuse a recipient. Each list joins words that servers were seen to use, in the languages in
 * which they answer; most are the texts of the programs named beside them. They are compared without regard to case.
 */

/** The address does not exist. */
const UNKNOWN = [
  // Postfix (smtpd), Sendmail, Exim (`550 Unknown user`), Courier, Dovecot LMTP
  'user unknown',
  'unknown user',
  'unknown recipient',
  'recipient unknown',
  'unknown address',
  'unknown local[- ]part',
  'unrouteable address',
  'unroutable address',
  'user doesn.?t exist',
  'user does not exist',
  'no such user',
  'no such account',
  'unknown mailbox',
  'user not found',
  'unknown or illegal alias',
  'no such recipient',
  'no such mailbox',
  'no such address',
  'no such person',
  'no such local user',
  // Exchange, Exchange Online
  'recip(?:ient)?notfound',
  'recipient not found',
  'recipient address rejected: (?:access denied|user unknown|undeliverable)',
  'couldn.t be found (?:at|or)',
  'wasn.t found at',
  'e-?mail address (?:you entered )?(?:couldn.t be found|does(?: not|n.t) exist)',
  // Gmail
  'the email account that you tried to reach does not exist',
  'address (?:couldn.t be|not) found',
  // Yahoo, AOL, iCloud, GMX
  'this user doesn.t have an? (?:[^ ]+ )?account',
  'mailbox (?:does(?: not|n.t) exist|not found|unknown)',
  'account (?:does(?: not|n.t) exist|not found|is not valid)',
  'invalid (?:recipient|mailbox|user|address)',
  'not a valid (?:recipient|mailbox|user)',
  'recipient (?:does(?: not|n.t) exist|is invalid|not exist)',
  'address (?:does not exist|is invalid|unknown)',
  // qmail (qmail-local, vpopmail)
  'no mailbox here by that name',
  'this address no longer accepts mail',
  // Lotus Domino
  'not listed in (?:the )?(?:domino|public name)',
  // other languages
  'benutzer (?:ist )?unbekannt',
  'empf(?:ä|ae)nger (?:ist )?unbekannt',
  'adresse (?:existiert nicht|wurde nicht gefunden|ist unbekannt)',
  'n.existe pas',
  'utilisateur inconnu',
  'destinataire inconnu',
  'adresse (?:introuvable|inconnue)',
  'no existe',
  'usuario desconocido',
  'direcci(?:ó|o)n (?:no encontrada|desconocida)',
  'utente sconosciuto',
  'non esiste',
  'indirizzo (?:non trovato|inesistente)',
  'n(?:ã|a)o existe',
  'endere(?:ç|c)o n(?:ã|a)o encontrado',
  'bestaat niet',
  'onbekende gebruiker',
  'nie istnieje',
  'nieznany u(?:ż|z)ytkownik',
  'finns inte',
  'findes ikke',
  'finnes ikke',
  'ei ole olemassa',
  'neexistuje',
  'пользователь не (?:найден|существует)',
  'нет такого пользователя',
  'не существует',
  '存在しません',
  '用户不存在',
  '收件人不存在',
]

/** The mailbox exists, but takes nothing more. */
const CLOSED_MAILBOX = [
  // Yahoo, Exim and others without an enhanced code
  '(?<!your )(?<!sender )(?:mailbox|mail account|account|user|recipient)(?: is| has been| was)? (?:disabled|deactivated|discontinued|inactive|closed)\\b',
  'disabled (?:mailbox|account|user|recipient)',
  // Exchange
  'accountdisabled',
  'postfach (?:ist |wurde )?(?:deaktiviert|geschlossen)',
]

/** The mailbox is full, or takes no more for now. */
const FULL = [
  '(?:mailbox|inbox|account|quota)\\b.{0,40}\\b(?:is |was )?full',
  'over ?quota',
  'quota (?:exceeded|has been exceeded)',
  'exceed(?:s|ed) (?:the |its |storage )?(?:quota|storage|allowed)',
  'out of storage',
  'insufficient (?:system )?storage',
  'postfach (?:ist )?voll',
  'bo(?:î|i)te (?:de r(?:é|e)ception |aux lettres )?(?:est )?pleine',
  'buz(?:ó|o)n (?:est(?:á|a) )?lleno',
  'casella (?:di posta )?piena',
  'caixa (?:de (?:correio|entrada) )?(?:est(?:á|a) )?cheia',
  // Gmail sends this with 5.2.1, which means a disabled mailbox elsewhere
  'receiving (?:mail|messages) (?:at a rate|too (?:quickly|fast))',
  'rate limit',
  'rate (?:has been |was |is )?exceeded',
  '(?:hourly|daily|message|sending|receiving) (?:rate|limit|quota)\\b',
  'throttl',
  'too many (?:messages|connections|recipients)',
]

/** The sender is refused. */
const REFUSED_SENDER = [
  'sender(?:.s)?:?(?: address| domain| name| mailbox)*:?(?: is| was| has been)? (?:rejected|denied|refused|unknown|invalid|blocked|not (?:allowed|accepted|found|valid)|does(?: not|n.t) exist|verif)',
  '(?:unknown|invalid|bad|illegal|unverified|forged) sender',
]

/** A refusal that names the sender, and so does not mean the address of the recipient. */
const SENDER = [
  ...REFUSED_SENDER,
  'domain of (?:the )?sender',
  '(?:from|return|sender).address',
  'return.path',
  '\\bmail from\\b',
  'absender',
  'exp(?:é|e)diteur',
  'remitente',
  'mittente',
  'remetente',
  'afzender',
  'nadawc',
  'avs(?:ä|a)ndar',
  'afsender',
  'отправител',
]

/** The server does not pass mail on to the domain. */
const RELAY = [
  '(?:relay|relaying) (?:access |to |for |attempt |is |was |has been |not )*(?:denied|prohibited|permitted|forbidden|disallowed|disabled|refused|allowed|rejected)',
  '(?:not|unable|cannot|can.t|won.t|refuse[sd]?|no|denied)(?: \\w+)? (?:to )?relay',
  'not (?:authorized|permitted|allowed) to (?:send|relay)',
  'rcpthosts',
]

/** The message or the sending server is refused, by its content, a policy or a blocklist. */
const UNWANTED = [
  '(?:as|is|be|contains?|like|for|possible|probable|likely|suspected|considered|identified as|classified as) (?:a |an )?(?:spam|junk|unsolicited|bulk|virus)',
  'spam (?:message|mail|content|detected|rejected|score|suspect|blocked|refused|not accepted)',
  '(?:message|mail|content) (?:rejected|refused|blocked|denied).{0,20}\\b(?:spam|virus|junk)',
  'blacklist',
  'block(?:ed|list)',
  'denylist',
  'spamhaus',
  'spamcop',
  'barracuda',
  'unsolicited',
  'content rejected',
  'message (?:content )?(?:rejected|refused) (?:due to|for) (?:policy|content|security)',
  'policy (?:reasons|violation|restriction)',
  'dmarc',
  'dkim',
  '\\bspf\\b',
  '(?:low|bad|poor|sender|ip|domain|your) reputation',
  'message (?:size|too (?:large|big))',
  'size limit',
]

/** Words that go with a refusal of the message, and also with offers of help beside any other. */
const HINTS = ['spam', 'junk mail', 'virus', 'reputation', 'content (?:filter|policy)', 'security policy']

const oneOf = (...lists: ReadonlyArray<readonly string[]>) => new RegExp(lists.flat().join('|'), 'iu')

export const UNKNOWN_RECIPIENT = oneOf(UNKNOWN)
export const DISABLED = oneOf(CLOSED_MAILBOX)
export const ABOUT_SENDER = oneOf(SENDER)
export const FULL_OR_REFUSED = oneOf(FULL, RELAY, REFUSED_SENDER, UNWANTED)
export const HINTS_OF_REFUSAL = oneOf(HINTS)
