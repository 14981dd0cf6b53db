// Words that carry no subject, so that a question typed as a sentence is asked by its subject.

export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after again all also am an and any anyone anything are as at be because been before being both
   but by can could did do does doing done down each ever every everything few find for from further
   get give given go going got had has have having he her here hers him his how i if in into is it its
   itself just know last let like looking make many may me mean might mine more most much must my
   myself no nor not now of off on once one only or other our ours out over own please recall
   remember same say said she should show so some someone something still such talk talked tell than
   that the their theirs them then there these they thing things this those through time to told too
   under until up us very want wanted was we well went were what when where whether which while who
   whom whose why will with would yet you your yours yourself im ive id ill youre weve dont didnt doesnt
   isnt wasnt cant couldnt wouldnt whats hes shes theyre thats lets conversation discuss discussed
   mention mentioned mentions decide decided happened exactly`.split(/\s+/),
);
