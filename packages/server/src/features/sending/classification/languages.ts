/**
 * Words of automatic replies and opt-outs, by language. Exchange, Outlook, Gmail, Domino and Zimbra write the subjects
 * in that language; people fill the sentences into their templates. All are compared without regard to case. `months`
 * and `weekdays` begin with January and Monday, each with its short forms.
 */

export interface Language {
  name: string
  /** Beginnings of the subjects of automatic replies and of notices of absence. */
  automaticSubjects: string
  absenceSubjects: string
  /** Words for an absence that people write as subjects, too. */
  commonSubjects: string
  /** Words by which an author appears as the subject of a sentence, or forms of verbs that imply it. */
  firstPerson: string
  outOfOffice: string
  leftCompany: string
  addressChanged: string
  acknowledgement: string
  /** Words before the day of the return, and before the last day of the absence. */
  back: string
  until: string | null
  /** Words before a day from which on something is so: the return, unless an absence follows. */
  since: string | null
  /** Words behind those days. */
  backBehind: string | null
  untilBehind: string | null
  months: readonly string[]
  weekdays: readonly string[]
  /** A whole sentence that declines further mail; `please` and the like are allowed before and after it. */
  optOuts: string
}

export const LANGUAGES: readonly Language[] = [
  {
    name: 'English',
    automaticSubjects: 'automatic reply|auto-?(?:matic )?(?:reply|response|responder)|autoreply',
    absenceSubjects: 'out of (?:the )?office|ooo\\b|i am (?:out|away)',
    commonSubjects: 'away from|vacation|on (?:vacation|holiday|leave)',
    firstPerson: 'i|i.m|i.ve|i.ll',
    outOfOffice:
      'i(?: a|.)m (?:currently |temporarily |presently )?(?:away|off (?:work|sick)|out (?:of town|today|until|till|from|on))|be away\\b|i(?: will|.ll| shall)? (?:be back|return)|out of (?:the )?office|on (?:\\w+ )?(?:vacation|holidays?|leave)|(?:parental|maternity|paternity|annual|sick|medical) leave|away (?:from|until|on)|ooo\\b|on pto\\b|office (?:is|will be) closed|i(?: a|.)m travell?ing|currently (?:away|travell?ing|unavailable)|limited access to (?:my )?e-?mail|not in the office|away till',
    leftCompany:
      'no longer (?:with|work(?:s|ing)?|employed|part of|at)|(?:has|have) left (?:the |our )?(?:company|organi[sz]ation|firm|team|business|university)|left the company|is not with (?:us|the company) any ?more|has retired|i have retired|ceased to work',
    addressChanged:
      'e-?mail address (?:has )?(?:been )?changed|new e-?mail address|my new address is|(?:address|mailbox|inbox) is no longer (?:in use|monitored|active|valid)|address is changing to|please (?:update|use) (?:my|our|the) new|moved to a new (?:e-?mail )?address|changed (?:my|our) e-?mail',
    acknowledgement:
      '(?:have |has been |was )?received your|your (?:message|e-?mail|request|enquiry|inquiry|ticket|application)\\b.{0,40}\\b(?:has been |was )?received|thank(?:s| you) for (?:contacting|reaching|getting|writing|your (?:message|e-?mail|interest|enquiry|inquiry|request|application|order))|ticket (?:has been|was|number|id)|will (?:get back|respond|reply|be in touch)',
    back: 'back (?:in the office |at work |at my desk )?(?:on|from|by)|back|return(?:ing)? (?:to (?:the office|work) )?(?:on|by)|return(?:ing)?(?: to (?:the office|work))?|in the office again (?:on|from)|available again (?:on|from)',
    until: 'until|till|through|thru|up to and including|to',
    since: null,
    backBehind: '(?:i|we)(?: am| are|.m|.re| will be|.ll be) back',
    untilBehind: null,
    months: [
      'january|jan',
      'february|feb',
      'march|mar',
      'april|apr',
      'may',
      'june|jun',
      'july|jul',
      'august|aug',
      'september|sept|sep',
      'october|oct',
      'november|nov',
      'december|dec',
    ],
    weekdays: [
      'monday|mon',
      'tuesday|tue',
      'wednesday|wed',
      'thursday|thu',
      'friday|fri',
      'saturday|sat',
      'sunday|sun',
    ],
    optOuts:
      'stop|unsubscribe(?: me)?(?: (?:from )?(?:this|your|the)(?: (?:mailing|e-?mail))? list)?|(?:i (?:want|would like|wish) to )?(?:unsubscribe|opt[- ]?out)|remove me(?: from (?:your|this|the)(?: (?:mailing|e-?mail|contact))? (?:list|lists|database))?|remove|take me off(?: (?:your|this|the)(?: (?:mailing|e-?mail))? list)?|opt[- ]?out|opt me out|no more (?:e-?mails?|mails?|messages)|stop (?:e-?mailing|contacting|writing(?: to)?|spamming|sending) ?(?:me|this|these)?(?: e-?mails?| messages)?|(?:do not|don.?t) (?:e-?mail|contact|write(?: to)?) me(?: again| any ?more)?|not interested,? (?:remove me|unsubscribe)|cancel (?:my |the )?subscription',
  },
  {
    name: 'German',
    automaticSubjects:
      'automatische antwort|autom\\. antwort|automatische eingangsbest(?:ä|ae)tigung|eingangsbest(?:ä|ae)tigung',
    absenceSubjects: 'abwesenheits(?:notiz|meldung|benachrichtigung|nachricht)|nicht im b(?:ü|ue)ro',
    commonSubjects: 'abwesend|abwesenheit|urlaub',
    firstPerson: 'ich',
    outOfOffice:
      '(?:derzeit|momentan|zurzeit|gerade|aktuell) nicht da|unterwegs|ich (?:kehre|komme) .{1,40} zur(?:ü|ue)ck|ich bin .{1,40} (?:wieder (?:da|im|erreichbar)|zur(?:ü|ue)ck)|nicht im (?:b(?:ü|ue)ro|haus|dienst)|abwesend|im urlaub|au(?:ß|ss)er haus|abwesenheit|in elternzeit|nicht erreichbar|erreichen (?:sie )?mich (?:wieder|erst)|b(?:ü|ue)ro (?:ist|bleibt) .{0,60}geschlossen|betriebsferien|auf (?:dienst|gesch(?:ä|ae)fts)reise|krankgeschrieben|im mutterschutz',
    leftCompany:
      'nicht mehr (?:(?:bei|für|fuer|in|im|an) .{0,60})?(?:t(?:ä|ae)tig|besch(?:ä|ae)ftigt|angestellt)|(?:hat|habe) (?:das|unser|die) (?:unternehmen|firma|haus)(?: .{1,30})? verlassen|(?:ist|bin) (?:aus dem unternehmen )?ausgeschieden|arbeitet nicht mehr|im ruhestand',
    addressChanged:
      'neue (?:e-?mail-?)?adresse|(?:e-?mail-?)?adresse hat sich ge(?:ä|ae)ndert|(?:e-?mail-?)?adresse (?:ist|wird) nicht mehr (?:aktiv|g(?:ü|ue)ltig|verwendet|abgerufen|genutzt)|unter der neuen adresse',
    acknowledgement:
      'haben (?:ihre|deine) .{0,40} erhalten|(?:vielen |herzlichen )?dank f(?:ü|ue)r (?:ihre|deine) (?:nachricht|anfrage|e-?mail|mail|bewerbung|bestellung)|ist bei uns eingegangen|melden uns|ticketnummer|vorgangsnummer',
    back: '(?:bin|sind) (?:ich )?wieder (?:ab|am)(?: dem)?|wieder (?:(?:im b(?:ü|ue)ro|da|erreichbar|zur(?:ü|ue)ck|f(?:ü|ue)r sie da)(?: am| ab(?: dem)?)?|ab(?: dem)?|am)|zur(?:ü|ue)ck (?:am|ab(?: dem)?)',
    until: 'bis(?: zum| einschlie(?:ß|ss)lich| inkl\\.?)*',
    since: 'ab(?: dem)?|(?:bin|sind) (?:ich )?am',
    backBehind: '(?:(?:bin|sind) )?(?:(?:ich|wir) )?(?:wieder|zur(?:ü|ue)ck)',
    untilBehind: null,
    months: [
      'januar|jänner|jan',
      'februar|feber|feb',
      'märz|maerz|mrz',
      'april|apr',
      'mai',
      'juni|jun',
      'juli|jul',
      'august|aug',
      'september|sept|sep',
      'oktober|okt',
      'november|nov',
      'dezember|dez',
    ],
    weekdays: ['montag', 'dienstag', 'mittwoch', 'donnerstag', 'freitag', 'samstag|sonnabend', 'sonntag'],
    optOuts:
      'stopp?|abmelden|abmeldung|abbestellen|austragen|newsletter (?:abbestellen|abmelden)|(?:mich )?(?:von|aus) (?:der|ihrer|eurer|diesem|dem|ihrem) (?:liste|mailingliste|verteiler|newsletter) (?:streichen|l(?:ö|oe)schen|nehmen|austragen|abmelden|entfernen)|(?:nehmen|streichen|l(?:ö|oe)schen|entfernen) sie (?:mich|meine (?:e-?mail-?)?adresse) (?:von|aus) (?:der|ihrer|dem|ihrem) (?:liste|mailingliste|verteiler)|keine (?:weiteren )?(?:e-?mails?|mails?|nachrichten|werbung)(?: mehr)?(?: (?:senden|schicken|an mich))?|melden sie mich ab|tragen sie mich aus',
  },
  {
    name: 'French',
    automaticSubjects: 'r(?:é|e)ponse automatique|accus(?:é|e) de r(?:é|e)ception',
    absenceSubjects: 'absence du bureau|message d.absence',
    commonSubjects: 'absence|absent|cong(?:é|e)s',
    firstPerson: 'je|j.\\p{L}+',
    outOfOffice:
      '(?:suis|serai) (?:actuellement )?en voyage|(?:suis|serai) pas l(?:à|a)\\b|je (?:reviens|reviendrai|rentre|rentrerai)|serai de retour|(?:suis|serai|serais) (?:actuellement )?(?:absente?|en (?:cong(?:é|e)s?|vacances|d(?:é|e)placement|arr(?:ê|e)t))|absente? (?:du bureau|jusqu|du|pour)|en cong(?:é|e)s?|hors du bureau|cong(?:é|e) (?:maternit(?:é|e)|parental|paternit(?:é|e))|pas au bureau',
    leftCompany:
      'ne (?:fait|fais) plus partie|a quitt(?:é|e)|ai quitt(?:é|e)|ne travaille plus|n.est plus (?:en poste|dans (?:l.entreprise|nos effectifs|la soci(?:é|e)t(?:é|e))|employ(?:é|e))|plus dans (?:l.entreprise|nos effectifs)|retraite',
    addressChanged:
      'nouvelle adresse|adresse (?:e-?mail |(?:é|e)lectronique |mail )?(?:a chang(?:é|e)|n.est plus (?:valide|utilis(?:é|e)e|active|consult(?:é|e)e))|chang(?:é|e) d.adresse',
    acknowledgement:
      'avons bien re(?:ç|c)u|bien re(?:ç|c)u votre|accus(?:é|e) de r(?:é|e)ception|accusons r(?:é|e)ception|merci (?:de nous avoir|pour votre|de votre) ?(?:contact(?:é|e)s?|message|e-?mail|demande|courriel|mail)?|num(?:é|e)ro de (?:ticket|dossier)',
    back: '(?:de retour|reviens|reviendrai|rentre|rentrerai|serai de retour|retour)(?: au bureau)?(?: (?:le|(?:à|a) (?:partir|compter) du|d(?:è|e)s le|ce))?|joignable (?:(?:à|a) partir du|d(?:è|e)s le)',
    until: 'jusqu.(?:au|(?:à|a))(?: (?:le|inclus))?|au',
    since: null,
    backBehind: null,
    untilBehind: null,
    months: [
      'janvier|janv',
      'février|fevrier|févr|fév',
      'mars',
      'avril|avr',
      'mai',
      'juin',
      'juillet|juil',
      'août|aout',
      'septembre|sept',
      'octobre|oct',
      'novembre|nov',
      'décembre|decembre|déc',
    ],
    weekdays: ['lundi', 'mardi', 'mercredi', 'jeudi', 'vendredi', 'samedi', 'dimanche'],
    optOuts:
      'stop|d(?:é|e)sabonne(?:r|z-moi|ment)|d(?:é|e)sabonnez moi|d(?:é|e)sinscription|d(?:é|e)sinscri(?:re|vez-moi|vez moi)|(?:je (?:souhaite|veux|d(?:é|e)sire) )?me d(?:é|e)s(?:inscrire|abonner)(?: de (?:votre|cette|la) liste)?|(?:je (?:ne )?(?:souhaite|veux) )?(?:ne )?plus recevoir (?:vos|de|d.autres|ces) ?(?:e-?mails?|mails?|messages|courriels)|(?:retirez|supprimez|enlevez|rayez)[- ]moi d(?:e|es) (?:votre|vos|cette|ces|la) listes?(?: (?:de (?:diffusion|contacts?)|d.(?:envoi|adresses)))?|me (?:retirer|supprimer|enlever|rayer|radier) d(?:e|es) (?:votre|vos|cette|ces|la) listes?(?: (?:de (?:diffusion|contacts?)|d.(?:envoi|adresses)))?|me d(?:é|e)s(?:inscrire|abonner)(?: d(?:e|es) (?:votre|vos|cette|ces|la) listes?(?: (?:de (?:diffusion|contacts?)|d.(?:envoi|adresses)))?)?|supprimer mon adresse(?: e-?mail)? d(?:e|es) (?:votre|vos|cette|ces|la) listes?(?: (?:de (?:diffusion|contacts?)|d.(?:envoi|adresses)))?|ne plus (?:m.(?:é|e)crire|m.envoyer (?:de |vos )?(?:e-?mails?|mails?|messages|courriels)|me contacter)|ne m.(?:é|e)crivez plus|ne me contactez plus',
  },
  {
    name: 'Spanish',
    automaticSubjects: 'respuesta autom(?:á|a)tica|acuse de recibo',
    absenceSubjects: 'fuera de (?:la )?oficina',
    commonSubjects: 'ausente|ausencia|vacaciones',
    firstPerson: 'yo|he|estoy|trabajo|formo|pertenezco',
    outOfOffice:
      'fuera de (?:la |mi )?oficina|de vacaciones|(?:estoy|estar(?:é|e)|me encuentro) (?:ausente|fuera|de (?:baja|viaje|permiso))|ausente|de baja|permiso de (?:maternidad|paternidad)',
    leftCompany:
      'ya no (?:trabaj[ao]|form[ao] parte|pertene(?:ce|zco)|est(?:á|a|oy) en (?:la|esta) empresa)|(?:ha|he) dejado (?:la|de trabajar)|(?:se )?ha jubilado|no trabaja (?:ya|m(?:á|a)s)',
    addressChanged:
      'nueva direcci(?:ó|o)n|direcci(?:ó|o)n (?:de correo )?(?:ha cambiado|ya no est(?:á|a))|he cambiado de (?:direcci(?:ó|o)n|correo)|nuevo correo',
    acknowledgement:
      'hemos recibido|he recibido su|gracias por (?:contactar|ponerse|su (?:mensaje|correo|consulta|inter(?:é|e)s|solicitud)|escribir)|acuse de recibo|n(?:ú|u)mero de (?:ticket|incidencia)|nos pondremos en contacto',
    back: '(?:de vuelta|regreso|regresar(?:é|e)|volver(?:é|e)|vuelvo|reincorporar(?:é|e)|incorporo|estar(?:é|e) de (?:vuelta|nuevo))(?: (?:a|en) la oficina)?(?: (?:el|a partir del|desde el))?',
    until: 'hasta(?: el)?|al',
    since: null,
    backBehind: null,
    untilBehind: null,
    months: [
      'enero|ene',
      'febrero|feb',
      'marzo|mar',
      'abril|abr',
      'mayo|may',
      'junio|jun',
      'julio|jul',
      'agosto|ago',
      'septiembre|setiembre|sept|sep',
      'octubre|oct',
      'noviembre|nov',
      'diciembre|dic',
    ],
    weekdays: ['lunes', 'martes', 'miércoles|miercoles', 'jueves', 'viernes', 'sábado|sabado', 'domingo'],
    optOuts:
      'stop|baja|alto|(?:quiero )?dar(?:me)? de baja|(?:que )?me den de baja|d(?:é|e)nme de baja|qu(?:í|i)ten?me de (?:su|la|esta) lista|dame de baja|cancelar (?:la |mi )?suscripci(?:ó|o)n|no (?:me )?(?:env(?:í|i)en|manden|escriban|contacten) m(?:á|a)s(?: (?:correos|mensajes|e-?mails?))?|no (?:quiero|deseo) recibir m(?:á|a)s (?:correos|mensajes|e-?mails?)|elim(?:í|i)nen?me de (?:su|la|esta) lista|borrarme de (?:su|la) lista',
  },
  {
    name: 'Italian',
    automaticSubjects: 'risposta automatica',
    absenceSubjects: 'fuori (?:ufficio|sede)',
    commonSubjects: 'assente|assenza|ferie',
    firstPerson: 'io|ho|sono|sar(?:ò|o)|lavoro',
    outOfOffice:
      'fuori (?:ufficio|sede|dall.ufficio)|in ferie|(?:sono|sar(?:ò|o)) (?:assente|in (?:ferie|vacanza|congedo|malattia|trasferta))|assente|in vacanza|in maternit(?:à|a)|congedo',
    leftCompany:
      'non lavor[ao] pi(?:ù|u)|(?:ha|ho) lasciato (?:l.azienda|la societ(?:à|a)|la nostra)|non fa pi(?:ù|u) parte|non (?:è|e|sono) pi(?:ù|u) (?:in (?:azienda|servizio|forza)|dipendente)|in pensione',
    addressChanged:
      'nuovo indirizzo|indirizzo (?:e-?mail |di posta )?(?:(?:è|e) (?:cambiato|stato (?:cambiato|disattivato))|non (?:è|e) pi(?:ù|u) (?:attivo|valido))|nuova (?:e-?mail|casella)',
    acknowledgement:
      'abbiamo ricevuto|ho ricevuto (?:la )?(?:tua|sua|vostra)|grazie per (?:averci|aver|il (?:tuo|suo|vostro)|la (?:tua|sua|vostra))|numero di (?:ticket|richiesta)|(?:ti|la|vi) risponderemo',
    back: '(?:rientro|rientrer(?:ò|o)|torner(?:ò|o)|torno|sar(?:ò|o) di (?:nuovo|ritorno)|sar(?:ò|o) nuovamente|di ritorno)(?: in (?:ufficio|sede))?(?: (?:il(?: giorno)?|dal|l.|a partire dal))?',
    until: 'fino (?:al|a)|sino al|al',
    since: null,
    backBehind: null,
    untilBehind: null,
    months: [
      'gennaio|gen',
      'febbraio|feb',
      'marzo|mar',
      'aprile|apr',
      'maggio|mag',
      'giugno|giu',
      'luglio|lug',
      'agosto|ago',
      'settembre|set',
      'ottobre|ott',
      'novembre|nov',
      'dicembre|dic',
    ],
    weekdays: [
      'lunedì|lunedi',
      'martedì|martedi',
      'mercoledì|mercoledi',
      'giovedì|giovedi',
      'venerdì|venerdi',
      'sabato',
      'domenica',
    ],
    optOuts:
      'stop|basta|(?:cancellarmi|rimuovermi) dalla (?:vostra )?(?:lista|mailing list)|cancella(?:mi|temi)(?: dalla (?:vostra )?(?:lista|mailing list))?|disiscri(?:vimi|vetemi|zione)|disiscrivermi|rimuov(?:imi|etemi)(?: dalla (?:vostra )?(?:lista|mailing list))?|cancellazione|annulla(?:re)? (?:l.)?iscrizione|non (?:voglio|desidero|vorrei) (?:pi(?:ù|u) )?ricevere (?:pi(?:ù|u) )?(?:le vostre |altre |queste )?(?:e-?mail|mail|messaggi|comunicazioni)|non (?:scrivetemi|contattatemi) pi(?:ù|u)',
  },
  {
    name: 'Portuguese',
    automaticSubjects: 'resposta autom(?:á|a)tica',
    absenceSubjects: 'fora do escrit(?:ó|o)rio',
    commonSubjects: 'ausente|aus(?:ê|e)ncia|f(?:é|e)rias',
    firstPerson: 'eu|estou|estarei|trabalho|fa(?:ç|c)o|perten(?:ç|c)o|deixei|sa(?:í|i)',
    outOfOffice:
      'fora do escrit(?:ó|o)rio|de f(?:é|e)rias|em f(?:é|e)rias|(?:estou|estarei) (?:ausente|fora|de (?:f(?:é|e)rias|licen(?:ç|c)a)|em viagem)|ausente|licen(?:ç|c)a (?:maternidade|paternidade|m(?:é|e)dica)',
    leftCompany:
      '(?:j(?:á|a) )?n(?:ã|a)o (?:trabalha|trabalho|faz parte|fa(?:ç|c)o parte|pertence|integra)(?: mais)? (?:n|d|a|mais|parte)|deixou (?:a empresa|de trabalhar)|n(?:ã|a)o (?:est(?:á|a)|se encontra) mais na empresa|saiu da empresa|aposent',
    addressChanged:
      'novo (?:endere(?:ç|c)o|e-?mail)|(?:endere(?:ç|c)o|e-?mail) (?:mudou|foi alterado|n(?:ã|a)o est(?:á|a) mais (?:ativo|em uso))|mudei de (?:endere(?:ç|c)o|e-?mail)',
    acknowledgement:
      'recebemos (?:o )?(?:seu|sua|a sua)|recebi (?:o )?(?:seu|sua)|obrigad[oa] (?:por|pel[oa]) (?:nos )?(?:contat|contact|seu|sua|entrar|mensagem)|n(?:ú|u)mero (?:do|de) (?:chamado|ticket|protocolo)|retornaremos|responderemos',
    back: '(?:de volta|retorno|retornarei|regresso|regressarei|voltarei|volto|estarei de volta)(?: ao (?:escrit(?:ó|o)rio|trabalho))?(?: (?:n?o dia|em|a partir de(?: dia)?|a|no|na|dia))?',
    until: 'at(?:é|e)(?: (?:ao? |o )?(?:dia)?)?|a',
    since: null,
    backBehind: null,
    untilBehind: null,
    months: [
      'janeiro|jan',
      'fevereiro|fev',
      'março|marco|mar',
      'abril|abr',
      'maio|mai',
      'junho|jun',
      'julho|jul',
      'agosto|ago',
      'setembro|set',
      'outubro|out',
      'novembro|nov',
      'dezembro|dez',
    ],
    weekdays: [
      'segunda-feira|segunda',
      'terça-feira|terça|terca',
      'quarta-feira|quarta',
      'quinta-feira|quinta',
      'sexta-feira|sexta',
      'sábado|sabado',
      'domingo',
    ],
    optOuts:
      'stop|parar|pare|sair|remover|descadastr(?:ar|e-me|em-me)|(?:quero )?cancelar (?:a )?(?:minha )?(?:inscri(?:ç|c)(?:ã|a)o|subscri(?:ç|c)(?:ã|a)o|assinatura)|(?:remov(?:a|am)|retir(?:e|em))(?:-me| meu (?:e-?mail|nome)) d[ae] (?:sua |vossa )?lista|n(?:ã|a)o (?:quero|desejo) (?:mais )?receber (?:mais )?(?:e-?mails?|mensagens)|n(?:ã|a)o (?:me )?(?:envi(?:e|em)|mand(?:e|em)) mais (?:e-?mails?|mensagens)',
  },
  {
    name: 'Dutch',
    automaticSubjects: 'automatisch antwoord|automatische (?:reactie|beantwoording)|ontvangstbevestiging',
    absenceSubjects: 'niet aanwezig',
    commonSubjects: 'afwezig(?:heid)?|vakantie',
    firstPerson: 'ik',
    outOfOffice:
      'afwezig|niet (?:op|aanwezig op) kantoor|(?:met|op) vakantie|met verlof|buiten kantoor|niet aanwezig|zwangerschapsverlof|ouderschapsverlof|niet bereikbaar',
    leftCompany:
      'niet (?:meer|langer) werkzaam|werk(?:t|zaam)? niet (?:meer|langer)|(?:heeft|heb) (?:ons|het|de|onze) (?:bedrijf|organisatie) verlaten|niet langer in dienst|uit dienst|met pensioen',
    addressChanged:
      'nieuw(?:e)? (?:e-?mail-?)?adres|(?:e-?mail-?)?adres (?:is )?(?:gewijzigd|veranderd|niet (?:meer|langer) (?:in gebruik|actief))',
    acknowledgement:
      '(?:hebben|heb) (?:uw|je|jouw) .{0,40} ontvangen|(?:dank|bedankt) (?:u )?voor (?:uw|je|jouw|het)|ontvangstbevestiging|nemen (?:zo spoedig mogelijk |snel )?contact|ticketnummer',
    back: '(?:ben (?:ik )?)?(?:weer )?(?:terug|aanwezig|bereikbaar|op kantoor)(?: op kantoor)?(?: (?:op|vanaf|per))?',
    until: 'tot(?: en met)?|t/m',
    since: 'vanaf',
    backBehind: '(?:(?:ben|zijn) (?:ik|wij|we) (?:er )?)?(?:weer|terug)',
    untilBehind: null,
    months: [
      'januari|jan',
      'februari|feb',
      'maart|mrt',
      'april|apr',
      'mei',
      'juni|jun',
      'juli|jul',
      'augustus|aug',
      'september|sept|sep',
      'oktober|okt',
      'november|nov',
      'december|dec',
    ],
    weekdays: ['maandag', 'dinsdag', 'woensdag', 'donderdag', 'vrijdag', 'zaterdag', 'zondag'],
    optOuts:
      'stop|afmelden|afmelding|uitschrijven|uitschrijving|mij (?:uit te schrijven|af te melden)|schrijf mij uit|meld mij af|(?:haal|verwijder) (?:mij|me) (?:van|uit) (?:de|uw|jullie|deze) (?:mailing)?lijst|geen (?:e-?)?mails? meer(?: (?:sturen|ontvangen))?|(?:ik wil )?geen (?:e-?)?mails? meer ontvangen|opzeggen',
  },
  {
    name: 'Polish',
    automaticSubjects: 'automatyczna odpowied(?:ź|z)|odpowied(?:ź|z) automatyczna|autoodpowied(?:ź|z)',
    absenceSubjects: 'poza biurem',
    commonSubjects: 'nieobecno(?:ść|sc)|urlop',
    firstPerson: 'ja|jestem|b(?:ę|e)d(?:ę|e)|pracuj(?:ę)|\\p{L}+(?:ł|l)[ae]m',
    outOfOffice:
      'poza biurem|na urlopie|nieobecn[ya]|nieobecno(?:ść|ści|sc)|urlop(?:u|ie)?\\b|zwolnieni(?:u|e) lekarski',
    leftCompany:
      'nie pracuj(?:e|ę) ju(?:ż|z)|ju(?:ż|z) nie pracuj|nie jest ju(?:ż|z) (?:pracownikiem|zatrudnion)|(?:zako(?:ń|n)czy(?:ł|l)a?m?|odesz(?:e|)d(?:ł|l)) .{0,20}(?:prac|firm|wsp(?:ó|o)(?:ł|l)prac)|na emerytur',
    addressChanged:
      'nowy adres|zmieni(?:ł|l)(?:a|em|am)? .{0,20}adres|adres .{0,30}(?:uleg(?:ł|l) zmianie|nie jest ju(?:ż|z) (?:aktywny|u(?:ż|z)ywany))|zmian(?:a|ie) adresu',
    acknowledgement:
      'otrzymali(?:ś|s)my|dzi(?:ę|e)kuj(?:ę|e|emy) za (?:wiadomo(?:ść|sc)|kontakt|zg(?:ł|l)oszenie|przes(?:ł|l)anie|e-?mail)|potwierdz(?:amy|enie) (?:otrzymani|odbior)|numer zg(?:ł|l)oszenia',
    back: '(?:wracam|wr(?:ó|o)c(?:ę|e)|powr(?:ó|o)t|b(?:ę|e)d(?:ę|e) (?:ponownie |znowu |z powrotem )?(?:dost(?:ę|e)pn[ya]|w biurze)?)(?: do (?:biura|pracy))?(?: (?:od|dnia|w dniu|w|z))?',
    until: 'do(?: dnia)?',
    since: null,
    backBehind: null,
    untilBehind: null,
    months: [
      'stycznia|styczeń|sty',
      'lutego|luty|lut',
      'marca|marzec|mar',
      'kwietnia|kwiecień|kwi',
      'maja|maj',
      'czerwca|czerwiec|cze',
      'lipca|lipiec|lip',
      'sierpnia|sierpień|sie',
      'września|wrzesień|wrz',
      'października|październik|paź',
      'listopada|listopad|lis',
      'grudnia|grudzień|gru',
    ],
    weekdays: [
      'poniedziałek|poniedziałku',
      'wtorek|wtorku',
      'środę|środa|środy',
      'czwartek|czwartku',
      'piątek|piątku',
      'sobotę|sobota|soboty',
      'niedzielę|niedziela|niedzieli',
    ],
    optOuts:
      'stop|wypisz mnie(?: z listy)?|wypisa(?:ć|c)|(?:o )?wypisanie(?: (?:mnie )?z (?:listy|newslettera))?|rezygnuj(?:ę|e)|rezygnacja|usu(?:ń|n|(?:ń|n)cie|n(?:ą|a)(?:ć|c)) mnie z (?:listy|bazy)|(?:o )?usuni(?:ę|e)cie (?:mnie |mojego adresu )?z (?:listy|bazy)|nie (?:chc(?:ę|e)|(?:ż|z)ycz(?:ę|e) sobie) (?:wi(?:ę|e)cej )?(?:otrzymywa(?:ć|c) )?(?:wi(?:ę|e)cej )?(?:wiadomo(?:ś|s)ci|maili|e-?maili)|nie pisz(?:cie)? do mnie',
  },
  {
    name: 'Swedish',
    automaticSubjects: 'autosvar|automatiskt svar',
    absenceSubjects: 'fr(?:å|a)nvaromeddelande|ej p(?:å|a) plats',
    commonSubjects: 'fr(?:å|a)nvaro|semester',
    firstPerson: 'jag',
    outOfOffice:
      'fr(?:å|a)nvarande|inte p(?:å|a) (?:kontoret|plats)|(?:p(?:å|a)|har|tar) semester|f(?:ö|o)r(?:ä|a)ldraledig|tj(?:ä|a)nstledig|ute p(?:å|a) resa|sjukskriven|ledig\\b',
    leftCompany:
      'arbetar inte l(?:ä|a)ngre|jobbar inte (?:l(?:ä|a)ngre|kvar)|har slutat|har l(?:ä|a)mnat (?:f(?:ö|o)retaget|oss|min)|inte l(?:ä|a)ngre (?:anst(?:ä|a)lld|kvar)|g(?:å|a)tt i pension',
    addressChanged:
      'ny (?:e-?post|mejl|mail)-?adress|(?:e-?post|mejl|mail)-?adress(?:en)? (?:har (?:(?:ä|a)ndrats|bytts)|anv(?:ä|a)nds inte l(?:ä|a)ngre|(?:ä|a)r inte l(?:ä|a)ngre aktiv)|bytt (?:e-?post|mejl|mail)-?adress',
    acknowledgement:
      'tack f(?:ö|o)r (?:ditt|din|ert|att du)|(?:vi )?har (?:tagit )?emot(?:tagit)? (?:ditt|din|ert)|mottagit (?:ditt|din|ert)|(?:ä|a)rendenummer|(?:å|a)terkommer',
    back: '(?:(?:å|a)ter|tillbaka|(?:å|a)terkommer)(?: (?:p(?:å|a) (?:kontoret|plats|jobbet)|i tj(?:ä|a)nst))?(?: (?:den|fr(?:å|a)n(?: och med)?(?: den)?|p(?:å|a)))?',
    until: '(?:fram )?till?(?: och med)?(?: den)?|t\\.?o\\.?m\\.?(?: den)?',
    since: null,
    backBehind: '(?:(?:ä|a)r|kommer) (?:jag|vi) (?:tillbaka|(?:å|a)ter)',
    untilBehind: null,
    months: [
      'januari|jan',
      'februari|feb',
      'mars',
      'april|apr',
      'maj',
      'juni|jun',
      'juli|jul',
      'augusti|aug',
      'september|sept|sep',
      'oktober|okt',
      'november|nov',
      'december|dec',
    ],
    weekdays: ['måndag', 'tisdag', 'onsdag', 'torsdag', 'fredag', 'lördag', 'söndag'],
    optOuts:
      'stopp?|sluta|avregistrera(?: mig)?|avanm(?:ä|a)l(?:an|a mig)|avsluta (?:min )?prenumeration(?:en)?|ta bort mig(?: fr(?:å|a)n (?:listan|er lista|s(?:ä|a)ndlistan))?|(?:jag vill )?inte (?:ha|f(?:å|a)) fler (?:mejl|mail|e-?post)|inga fler (?:mejl|mail|utskick)|sluta (?:mejla|maila|skicka)(?: mig)?',
  },
  {
    name: 'Danish and Norwegian',
    automaticSubjects: 'autosvar|automatisk svar',
    absenceSubjects: 'ikke til stede|frav(?:æ|ae)rs(?:meddelelse|melding)',
    commonSubjects: 'frav(?:æ|ae)r(?:ende)?|ferie',
    firstPerson: 'jeg',
    outOfOffice:
      'frav(?:æ|ae)rende|ikke (?:p(?:å|a)|til stede p(?:å|a)) kontoret|(?:p(?:å|a)|har|holder) (?:sommer|vinter|jule|p(?:å|a)ske)?ferie|p(?:å|a) (?:barsel|orlov)|ute av kontoret|ude af (?:kontoret|huset)|bortreist|foreldrepermisjon|sykemeldt|sygemeldt',
    leftCompany:
      'arbejder ikke l(?:æ|ae)ngere|(?:er|har) fratr(?:å|aa)dt|(?:har|er) stoppet|(?:jobber|arbeider) ikke lenger|har sluttet|har forladt|ikke l(?:æ|ae)ngere ansat|ikke lenger ansatt|g(?:å|aa)et p(?:å|a) pension',
    addressChanged:
      'ny (?:e-?mail|e-?post|mail)-?adresse|(?:e-?mail|e-?post|mail)-?adressen? (?:er (?:(?:æ|ae)ndret|endret|ikke l(?:æ|ae)ngere (?:aktiv|i brug)|ikke lenger (?:aktiv|i bruk)))|skiftet (?:e-?mail|mail|e-?post)',
    acknowledgement:
      'tak(?:k)? for (?:din|dit|deres|henvendelsen|at du)|(?:vi )?har modtaget (?:din|dit)|(?:vi )?har mottatt (?:din|ditt|e-?posten)|sagsnummer|saksnummer|vender tilbage|svarer (?:deg|dig)',
    back: '(?:er |v(?:æ|ae)re )?(?:tilbage|tilbake|retur)(?: (?:p(?:å|a) (?:kontoret|arbejde|jobb|jobben)|igen))?(?: (?:den|fra(?: den)?|p(?:å|a)|igen))?',
    until: '(?:frem )?(?:til|indtil)(?: og med)?(?: den)?|t\\.?o\\.?m\\.?(?: den)?',
    since: null,
    backBehind: 'er (?:jeg|vi) (?:tilbage|tilbake)',
    untilBehind: null,
    months: [
      'januar|jan',
      'februar|feb',
      'marts|mars|mar',
      'april|apr',
      'maj|mai',
      'juni|jun',
      'juli|jul',
      'august|aug',
      'september|sept|sep',
      'oktober|okt',
      'november|nov',
      'december|desember|dec|des',
    ],
    weekdays: ['mandag', 'tirsdag', 'onsdag', 'torsdag', 'fredag', 'lørdag', 'søndag'],
    optOuts:
      'stopp?|afmeld(?: mig)?|afmelding|frameld(?: mig)?|avmeld(?: meg)?|avmelding|meld (?:mig|meg) (?:fra|av|ud)|slet mig(?: fra (?:listen|jeres liste))?|fjern (?:mig|meg)(?: venligst)?(?: fra (?:listen|jeres liste|listen deres))?|ikke flere (?:mails|e-?mails|e-?poster)|(?:jeg )?(?:vil|(?:ø|o)nsker) ikke (?:have |(?:å|a) f(?:å|a) |at modtage |ha )?flere (?:mails|e-?mails|e-?poster)',
  },
  {
    name: 'Finnish',
    automaticSubjects: 'automaattinen vastaus',
    absenceSubjects: 'poissaoloviesti',
    commonSubjects: 'poissa(?:olo)?|lomalla',
    firstPerson: 'en|olen|min(?:ä|a)',
    outOfOffice:
      'poissa (?:toimistolta|t(?:ö|o)ist(?:ä|a))|lomalla|olen poissa|poissaolo|vanhempainvapaa|sairauslomalla',
    leftCompany:
      'en? (?:ole|ty(?:ö|o)skentele) en(?:ää|aa)|ei (?:ole |ty(?:ö|o)skentele )?en(?:ää|aa) (?:palveluksessa|ty(?:ö|o)|meill(?:ä|a))|on l(?:ä|a)htenyt|el(?:ä|a)kkeell(?:ä|a)',
    addressChanged: 'uusi s(?:ä|a)hk(?:ö|o)posti|s(?:ä|a)hk(?:ö|o)postiosoitteeni on (?:muuttunut|vaihtunut)',
    acknowledgement:
      'kiitos (?:viestist|yhteydenotost|s(?:ä|a)hk(?:ö|o)postist)|olemme vastaanottaneet|vastaamme',
    back: '(?:palaan|takaisin|tavoitettavissa|(?:taas|j(?:ä|a)lleen) (?:t(?:ö|o)iss(?:ä|a)|toimistolla|tavoitettavissa))(?: (?:toimisto(?:on|lle|lla)|t(?:ö|o)ihin|t(?:ö|o)iss(?:ä|a)|taas|j(?:ä|a)lleen))?',
    until: null,
    since: null,
    backBehind: '(?:palaan|olen (?:taas|j(?:ä|a)lleen|takaisin))',
    untilBehind: 'asti|saakka',
    months: [
      'tammikuuta|tammikuu',
      'helmikuuta|helmikuu',
      'maaliskuuta|maaliskuu',
      'huhtikuuta|huhtikuu',
      'toukokuuta|toukokuu',
      'kesäkuuta|kesäkuu',
      'heinäkuuta|heinäkuu',
      'elokuuta|elokuu',
      'syyskuuta|syyskuu',
      'lokakuuta|lokakuu',
      'marraskuuta|marraskuu',
      'joulukuuta|joulukuu',
    ],
    weekdays: [
      'maanantaina',
      'tiistaina',
      'keskiviikkona',
      'torstaina',
      'perjantaina',
      'lauantaina',
      'sunnuntaina',
    ],
    optOuts:
      'stop|lopeta|peru tilaus|peruuta tilaus|poista minut(?: (?:postitus)?listalta)?|(?:en halua )?(?:en(?:ää|aa) )?lis(?:ää|aa) viestej(?:ä|a)',
  },
  {
    name: 'Czech and Slovak',
    automaticSubjects: 'automatick(?:á|a) odpov(?:ě|e)(?:ď|d)',
    absenceSubjects: 'mimo kancel(?:á|a)(?:ř|r)',
    commonSubjects: 'nep(?:ř|r)(?:í|i)tomnost|dovolen(?:á|a)',
    firstPerson: 'j(?:á|a)|jsem|som|nepracuj(?:i|u|em)|budu|budem',
    outOfOffice:
      'mimo kancel(?:á|a)(?:ř|r)|na dovolen(?:é|e)|nep(?:ř|r)(?:í|i)tom[en]|m(?:á|a)m dovolenou|nepr(?:í|i)tomn|na dovolenke',
    leftCompany:
      '(?:ji(?:ž|z)|u(?:ž|z)) (?:zde |u n(?:á|a)s |v .{0,30})?nepracuj|odešel|ukon(?:č|c)il pracovn|v d(?:ů|u)chodu',
    addressChanged: 'nov(?:á|a|ou) (?:e-?mailov(?:á|a|ou) )?adres|zm(?:ě|e)n(?:a|ila|il) .{0,20}adres',
    acknowledgement:
      'd(?:ě|e)kujeme za|obdr(?:ž|z)eli jsme|va(?:š|s)e zpr(?:á|a)va byla p(?:ř|r)ijata|(?:č|c)(?:í|i)slo po(?:ž|z)adavku',
    back: '(?:vr(?:á|a)t(?:í|i)m (?:se|sa)|zp(?:ě|e)t|sp(?:ä|a)(?:ť|t)|bud(?:u|em) (?:zp(?:ě|e)t|sp(?:ä|a)(?:ť|t)|op(?:ě|e|ä|a)(?:t|ť)))(?: (?:do (?:kancel(?:á|a)(?:ř|r)(?:e|ie)|pr(?:á|a)c[ei])|v (?:kancel(?:á|a)(?:ř|r)i{1,2}|pr(?:á|a)ci)))?(?: (?:dne|d(?:ň|n)a|od|v|ve|vo))?',
    until: 'do(?: dne)?',
    since: null,
    backBehind: null,
    untilBehind: null,
    months: [
      'ledna|leden|januára|január',
      'února|únor|februára|február',
      'března|březen|marca|marec',
      'dubna|duben|apríla|apríl',
      'května|květen|mája|máj',
      'června|červen|júna|jún',
      'července|červenec|júla|júl',
      'srpna|srpen|augusta|august',
      'září|septembra|september',
      'října|říjen|októbra|október',
      'listopadu|listopad|novembra|november',
      'prosince|prosinec|decembra|december',
    ],
    weekdays: [
      'pondělí|pondelok',
      'úterý|utorok',
      'středu|středa|stredu|streda',
      'čtvrtek|štvrtok',
      'pátek|piatok',
      'sobotu|sobota',
      'neděli|neděle|nedeľu|nedeľa',
    ],
    optOuts:
      'stop|odhl(?:á|a)sit(?: (?:se|odb(?:ě|e)r))?|zru(?:š|s)it odb(?:ě|e)r|vy(?:ř|r)a(?:ď|d)te m(?:ě|e)(?: ze seznamu)?|nepos(?:í|i)lejte (?:mi )?(?:dal(?:š|s)(?:í|i) )?(?:e-?maily|zpr(?:á|a)vy)',
  },
]
