/*
 * What servers say of a recipient that they refuse. Each list joins words that servers were seen to use, in the
 * languages in which they answer; most are the texts of the programs named beside them. Compared without regard to case.
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
  'no such recipient',
  'no such mailbox',
  'no such address',
  'no such person',
  'no such local user',
  // Exchange, Exchange Online
  'recipnotfound',
  'recipient not found',
  'recipient address rejected: (?:access denied|user unknown|undeliverable)',
  'couldn.t be found (?:at|or)',
  'wasn.t found at',
  'e-?mail address (?:you entered )?(?:couldn.t be found|does(?: not|n.t) exist)',
  // Gmail
  'the email account that you tried to reach does not exist',
  'address (?:couldn.t be|not) found',
  // Yahoo, AOL, iCloud, GMX
  'this user doesn.t have a [^ ]+ account',
  'mailbox (?:does not exist|not found|unknown)',
  'account (?:does not exist|not found|is not valid)',
  'invalid (?:recipient|mailbox|user|address)',
  'recipient (?:does not exist|is invalid|not exist)',
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

/** The mailbox is full, or the message, its sender or its size is refused: no fault of the address. */
const REFUSED = [
  // full
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
  // policy and spam
  'spam',
  'junk mail',
  'blacklist',
  'block(?:ed|list)',
  'denylist',
  'spamhaus',
  'barracuda',
  'reputation',
  'unsolicited',
  'content (?:rejected|filter|policy)',
  'message (?:content )?(?:rejected|refused) (?:due to|for) (?:policy|content|security)',
  'policy (?:reasons|violation|restriction)',
  'security policy',
  'dmarc',
  'dkim',
  '\\bspf\\b',
  'virus',
  'rate limit',
  'too many (?:messages|connections|recipients)',
  'sender (?:address )?(?:rejected|denied|not allowed|verify failed)',
  'not (?:authorized|permitted|allowed) to (?:send|relay)',
  'relay(?:ing)? (?:access )?denied',
  'message (?:size|too (?:large|big))',
  'size limit',
]

export const UNKNOWN_RECIPIENT = new RegExp(UNKNOWN.join('|'), 'iu')
export const FULL_OR_REFUSED = new RegExp(REFUSED.join('|'), 'iu')
